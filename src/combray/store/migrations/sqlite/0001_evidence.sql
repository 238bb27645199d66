-- Banks, sessions and turns, with what is derived from each turn.
--
-- A document number is bank * 2^32 + n, a session number likewise, and a vector's id is
-- space * 2^32 + n with the n of its document: everything of a bank lies together, and no number is
-- ever given twice. Times are UTC text of fixed width, offsets are minutes east of UTC.

CREATE TABLE bank (
  number       INTEGER PRIMARY KEY AUTOINCREMENT,
  name         TEXT NOT NULL UNIQUE,
  zone         TEXT NOT NULL,
  analyser     TEXT NOT NULL,
  edition      INTEGER NOT NULL DEFAULT 0,   -- the analysis that counts
  embedder     TEXT,
  dimension    INTEGER NOT NULL DEFAULT 0,
  created_at   TEXT NOT NULL,
  revision     INTEGER NOT NULL DEFAULT 0,   -- grows with every commit
  erase_epoch  INTEGER NOT NULL DEFAULT 0,   -- grows when stored rows change or go
  n_turns      INTEGER NOT NULL DEFAULT 0,
  n_sessions   INTEGER NOT NULL DEFAULT 0,
  n_terms      INTEGER NOT NULL DEFAULT 0,   -- sum over its turns
  last_turn    INTEGER NOT NULL DEFAULT 0,   -- highest n given to a turn
  last_session INTEGER NOT NULL DEFAULT 0    -- highest n given to a session
) STRICT;

CREATE TABLE session (
  number         INTEGER PRIMARY KEY,
  bank           INTEGER NOT NULL REFERENCES bank (number),
  name           TEXT NOT NULL,
  title          TEXT,
  source         TEXT,
  started_at     TEXT,                       -- as the client gave it
  started_offset INTEGER NOT NULL DEFAULT 0,
  first_at       TEXT,                       -- of its earliest turn
  first_offset   INTEGER NOT NULL DEFAULT 0,
  metadata       TEXT NOT NULL DEFAULT '{}',
  n_turns        INTEGER NOT NULL DEFAULT 0,
  n_terms        INTEGER NOT NULL DEFAULT 0,
  next_position  INTEGER NOT NULL DEFAULT 0,
  UNIQUE (bank, name)
) STRICT;

CREATE TABLE turn (
  doc            INTEGER PRIMARY KEY,
  bank           INTEGER NOT NULL REFERENCES bank (number),
  session        INTEGER NOT NULL REFERENCES session (number),
  position       INTEGER NOT NULL,           -- in its session, by arrival, from 0
  n_terms        INTEGER NOT NULL,
  question       INTEGER NOT NULL,
  said_at        TEXT NOT NULL,
  said_offset    INTEGER NOT NULL,
  expires_at     TEXT,
  expires_offset INTEGER NOT NULL DEFAULT 0,
  stored_at      TEXT NOT NULL,
  role           TEXT NOT NULL,
  speaker        TEXT NOT NULL,
  id             TEXT NOT NULL,              -- tagged content hash
  content        TEXT NOT NULL,              -- hash of speaker, role, text and caption
  client_id      TEXT,
  tags           TEXT NOT NULL DEFAULT '[]',
  metadata       TEXT NOT NULL DEFAULT '{}',
  caption        TEXT,
  text           TEXT NOT NULL               -- verbatim
) STRICT;
CREATE UNIQUE INDEX turn_id ON turn (bank, id);
CREATE UNIQUE INDEX turn_position ON turn (session, position);
CREATE INDEX turn_content ON turn (session, content);
CREATE INDEX turn_said_at ON turn (bank, said_at);
CREATE INDEX turn_speaker ON turn (bank, speaker);

CREATE TABLE turn_tag (
  bank INTEGER NOT NULL,
  tag  TEXT NOT NULL,
  doc  INTEGER NOT NULL,
  PRIMARY KEY (bank, tag, doc)
) STRICT, WITHOUT ROWID;

-- An edition is one analyser's reading of all turns of a bank. Postings of an edition that does not
-- count yet wait beside those that do, until the bank names it.
CREATE TABLE edition (
  bank     INTEGER NOT NULL REFERENCES bank (number),
  number   INTEGER NOT NULL,
  analyser TEXT NOT NULL,
  PRIMARY KEY (bank, number),
  UNIQUE (bank, analyser)
) STRICT, WITHOUT ROWID;

-- What a turn contributes to `posting`, from the turn's side: {kind: {term: tf}}.
CREATE TABLE analysis (
  bank     INTEGER NOT NULL,
  edition  INTEGER NOT NULL,
  doc      INTEGER NOT NULL,
  n_terms  INTEGER NOT NULL,
  question INTEGER NOT NULL,
  terms    TEXT NOT NULL,
  PRIMARY KEY (bank, edition, doc)
) STRICT, WITHOUT ROWID;

CREATE TABLE posting (
  bank    INTEGER NOT NULL,
  edition INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  term    TEXT NOT NULL,
  doc     INTEGER NOT NULL,
  session INTEGER NOT NULL,
  tf      INTEGER NOT NULL,
  len     INTEGER NOT NULL,                  -- n_terms of the turn
  PRIMARY KEY (bank, edition, kind, term, doc)
) STRICT, WITHOUT ROWID;

-- A space is one embedder's vectors of one bank; the bank names the embedder whose vectors count.
CREATE TABLE space (
  number    INTEGER PRIMARY KEY AUTOINCREMENT,
  bank      INTEGER NOT NULL REFERENCES bank (number),
  embedder  TEXT NOT NULL,
  dimension INTEGER NOT NULL,
  UNIQUE (bank, embedder)
) STRICT;

CREATE TABLE vector (
  id INTEGER PRIMARY KEY,
  v  BLOB NOT NULL                           -- float16, little-endian
) STRICT;

-- Apart from `vector`, since rows of both together would leave half of each page empty.
CREATE TABLE vector_tokens (
  id   INTEGER PRIMARY KEY,
  bits BLOB NOT NULL                         -- packed sign bits, row after row; may be empty
) STRICT;

-- Deletions that are committed, but whose bytes may still be in the file or its log.
CREATE TABLE erasure (
  number INTEGER PRIMARY KEY,
  at     TEXT NOT NULL
) STRICT;
