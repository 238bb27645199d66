-- Records that hold no longer, units that are wanted again, and what a derived copy must let go of.
--
-- A record is closed as long as a unit closes it; its status, retired_at and closed_in say so too.

ALTER TABLE bank ADD COLUMN gone_left INTEGER NOT NULL DEFAULT 256;  -- records that may go before they are counted
ALTER TABLE unit ADD COLUMN least_inputs INTEGER NOT NULL DEFAULT 0; -- wanted again while it has so many; 0: never
ALTER TABLE record ADD COLUMN valid_from TEXT;
ALTER TABLE record ADD COLUMN valid_offset INTEGER NOT NULL DEFAULT 0;
ALTER TABLE record ADD COLUMN closed_in INTEGER;                     -- derived_revision of the write that closed it

CREATE INDEX record_closed ON record (bank, method, closed_in) WHERE closed_in IS NOT NULL;
DROP INDEX record_unstaged;
CREATE INDEX record_unstaged ON record (bank, method, kind, number) WHERE stage = 0 AND retired_at IS NULL;

-- Which unit says that it holds no longer.
CREATE TABLE closing (
  bank         INTEGER NOT NULL,
  record       INTEGER NOT NULL,
  unit         INTEGER NOT NULL,
  status       TEXT NOT NULL,
  by           TEXT NOT NULL,                -- id of the record that holds instead, or empty
  valid_to     TEXT,
  valid_offset INTEGER NOT NULL,
  PRIMARY KEY (bank, record, unit)
) STRICT, WITHOUT ROWID;
CREATE INDEX closing_unit ON closing (bank, unit, record);
CREATE INDEX closing_by ON closing (bank, by, record);

-- Records that were replaced since the epoch began; bare numbers.
CREATE TABLE record_gone (
  bank     INTEGER NOT NULL,
  method   TEXT NOT NULL,
  revision INTEGER NOT NULL,
  number   INTEGER NOT NULL,
  PRIMARY KEY (bank, method, revision, number)
) STRICT, WITHOUT ROWID;
