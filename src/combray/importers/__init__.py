"""Reading other people's formats."""
