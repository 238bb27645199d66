from statistics import median
from time import process_time

from combray.pack import ApproximateCounter, pack
from combray.pack.render import rendered

SENTENCES = [
    "We went to see the house by the river on Sunday, and I think it could be right for all of us!",
    "Did you ever find a place for the piano, or is it still at your sister's?",
    "I was thinking of that Portuguese restaurant near the station, the one with the blue tiles.",
    "No worries at all, congratulations on the new job, we should celebrate sometime soon.",
]


def test_packing_fifty_hits_takes_a_few_milliseconds(said, beside, ranked):
    turns = [
        said(
            f"{SENTENCES[n % 4]} That was number {n}.", ("Mira", "Tom")[n % 2], session=f"s{n % 11}"
        )
        for n in range(50)
    ]
    hits, neighbours, counter = ranked(*turns), beside(*turns), ApproximateCounter()
    packing, rendering = [], []
    for _ in range(40):
        start = process_time()
        packed = pack(hits, neighbours, budget_tokens=1024, counter=counter)
        packing.append(process_time() - start)
        start = process_time()
        rendered(packed.items)
        rendering.append(process_time() - start)
    print(  # noqa: T201 - the figures are the report
        f"50 hits into 1,024 tokens: {median(packing) * 1e3:.2f} ms of CPU, of which rendering "
        f"{median(rendering) * 1e3:.2f} ms; {len(packed.items)} items"
    )
    # Ten times what a quiet machine takes: catches a quadratic step, not a busy neighbour.
    assert median(packing) < 0.01
