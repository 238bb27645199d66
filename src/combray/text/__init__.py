"""Reading texts locally: tokens, stems, entities, dates."""
