-- What language models derive from turns: jobs, units, records, and the ledger of calls.
--
-- One rule of deletion: a unit goes when a turn or a record that it read goes; a record goes when no
-- unit that made it is left. A record's number is bank * 2^32 + n, its vector's id space * 2^32 + n.

ALTER TABLE bank ADD COLUMN methods TEXT NOT NULL DEFAULT '[]';         -- that derive from its turns
ALTER TABLE bank ADD COLUMN derived_revision INTEGER NOT NULL DEFAULT 0;  -- grows when records change
ALTER TABLE bank ADD COLUMN derived_epoch INTEGER NOT NULL DEFAULT 0;     -- grows when records go
ALTER TABLE bank ADD COLUMN last_record INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bank ADD COLUMN last_unit INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bank ADD COLUMN last_call INTEGER NOT NULL DEFAULT 0;
ALTER TABLE bank ADD COLUMN last_job INTEGER NOT NULL DEFAULT 0;

CREATE TABLE job (
  bank         INTEGER NOT NULL REFERENCES bank (number),
  number       INTEGER NOT NULL,
  method       TEXT NOT NULL,
  kind         TEXT NOT NULL,
  subject      TEXT NOT NULL,                -- name of the session, or empty
  state        TEXT NOT NULL,                -- waiting, running, failed
  version      INTEGER NOT NULL DEFAULT 1,   -- grows when there is more to do
  tries        INTEGER NOT NULL DEFAULT 0,
  due_at       TEXT NOT NULL,
  fresh_since  TEXT,                         -- first turn that came since it was last taken
  leased_until TEXT,
  worker       TEXT,
  code         TEXT NOT NULL DEFAULT '',
  error        TEXT NOT NULL DEFAULT '',
  raw          TEXT NOT NULL DEFAULT '',
  created_at   TEXT NOT NULL,
  updated_at   TEXT NOT NULL,
  ready_at     TEXT AS (CASE state WHEN 'waiting' THEN due_at WHEN 'running' THEN leased_until END),
  PRIMARY KEY (bank, number),
  UNIQUE (bank, method, kind, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX job_subject ON job (bank, subject);
CREATE INDEX job_ready ON job (bank, ready_at) WHERE state <> 'failed';

-- The bank whose job was taken last: the next one comes from the bank after it.
CREATE TABLE last_claim (
  one  INTEGER PRIMARY KEY CHECK (one = 1),
  bank INTEGER NOT NULL
) STRICT;

-- One reply of a model, or one that is still wanted.
CREATE TABLE unit (
  bank    INTEGER NOT NULL REFERENCES bank (number),
  number  INTEGER NOT NULL,
  method  TEXT NOT NULL,
  kind    TEXT NOT NULL,
  key     TEXT NOT NULL,                     -- hash of what is asked about
  subject TEXT NOT NULL,
  done    INTEGER NOT NULL,
  prompt  TEXT NOT NULL,
  model   TEXT NOT NULL,
  made_at TEXT NOT NULL,
  PRIMARY KEY (bank, number),
  UNIQUE (bank, method, kind, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_subject ON unit (bank, method, kind, subject);
CREATE INDEX unit_wanted ON unit (bank, method, kind) WHERE done = 0;

-- The turns that the model read for it.
CREATE TABLE unit_turn (
  bank INTEGER NOT NULL,
  doc  INTEGER NOT NULL,
  unit INTEGER NOT NULL,
  PRIMARY KEY (bank, doc, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_turn_unit ON unit_turn (bank, unit, doc);

-- The records that it read.
CREATE TABLE unit_record (
  bank     INTEGER NOT NULL,
  record   INTEGER NOT NULL,
  unit     INTEGER NOT NULL,
  position INTEGER NOT NULL,                 -- the main one is 0
  PRIMARY KEY (bank, record, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX unit_record_unit ON unit_record (bank, unit, position);

CREATE TABLE record (
  number      INTEGER PRIMARY KEY,
  bank        INTEGER NOT NULL REFERENCES bank (number),
  method      TEXT NOT NULL,
  kind        TEXT NOT NULL,
  id          TEXT NOT NULL,                 -- tagged content hash
  text        TEXT NOT NULL,
  detail      TEXT NOT NULL DEFAULT '{}',
  unit        INTEGER NOT NULL,              -- that wrote text and detail
  recorded_at TEXT NOT NULL,
  retired_at  TEXT,
  status      TEXT NOT NULL DEFAULT 'current',
  stage       INTEGER NOT NULL DEFAULT 0     -- 0 until its method has linked it
) STRICT;
CREATE UNIQUE INDEX record_id ON record (bank, id);
CREATE INDEX record_method ON record (bank, method, number);
CREATE INDEX record_unstaged ON record (bank, method, kind, number) WHERE stage = 0;

-- Which unit made it of which turns.
CREATE TABLE source (
  bank   INTEGER NOT NULL,
  record INTEGER NOT NULL,
  unit   INTEGER NOT NULL,
  doc    INTEGER NOT NULL,
  PRIMARY KEY (bank, record, unit, doc)
) STRICT, WITHOUT ROWID;
CREATE INDEX source_unit ON source (bank, unit, record);

-- Weighted links between records, stored in both directions.
CREATE TABLE record_edge (
  bank   INTEGER NOT NULL,
  method TEXT NOT NULL,
  kind   TEXT NOT NULL,
  a      INTEGER NOT NULL,
  b      INTEGER NOT NULL,
  weight REAL NOT NULL,
  PRIMARY KEY (bank, a, method, kind, b)
) STRICT, WITHOUT ROWID;

CREATE TABLE record_vector (
  id INTEGER PRIMARY KEY,
  v  BLOB NOT NULL                           -- float16, little-endian
) STRICT;

-- One row a request to a model; no text.
CREATE TABLE call (
  bank              INTEGER NOT NULL REFERENCES bank (number),
  number            INTEGER NOT NULL,
  at                TEXT NOT NULL,
  run               TEXT NOT NULL,
  phase             TEXT NOT NULL,
  method            TEXT NOT NULL,
  model             TEXT NOT NULL,
  prompt_tokens     INTEGER NOT NULL,
  completion_tokens INTEGER NOT NULL,
  latency_ms        REAL NOT NULL,
  cached            INTEGER NOT NULL,
  retry             INTEGER NOT NULL,
  attempts          INTEGER NOT NULL,
  outcome           TEXT NOT NULL,
  PRIMARY KEY (bank, number)
) STRICT, WITHOUT ROWID;

-- Replies by a hash of their request, each erased with the turns that it read.
CREATE TABLE reply (
  bank  INTEGER NOT NULL,
  key   TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (bank, key)
) STRICT, WITHOUT ROWID;
CREATE TABLE reply_turn (
  bank INTEGER NOT NULL,
  doc  INTEGER NOT NULL,
  key  TEXT NOT NULL,
  PRIMARY KEY (bank, doc, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX reply_turn_key ON reply_turn (bank, key, doc);
