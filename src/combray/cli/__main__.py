"""``python -m combray.cli``: the command line without its script."""

from combray.cli.run import main

if __name__ == "__main__":
    main()
