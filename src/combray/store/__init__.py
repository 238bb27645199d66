"""Where rows live: SQLite today, PostgreSQL by the same contract."""
