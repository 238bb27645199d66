UPDATE bank SET methods = '["anchor"]', derived_revision = 3, derived_epoch = 1, last_record = 4, last_unit = 3, last_job = 1;
INSERT INTO job (bank, number, method, kind, subject, state, due_at, created_at, updated_at) VALUES
  (1, 1, 'anchor', 'link', '', 'waiting', '2023-05-08T12:00:00.000000Z', '2023-05-08T12:00:00.000000Z', '2023-05-08T12:00:00.000000Z');
INSERT INTO unit VALUES
  (1, 1, 'anchor', 'facts', 'w', 's1', 1, '0123456789ab', 'stub', '2023-05-08T12:00:00.000000Z'),
  (1, 2, 'anchor', 'event', 'c', '4294967298', 1, '0123456789ab', 'stub', '2023-05-08T12:00:00.000000Z'),
  (1, 3, 'anchor', 'event', 'd', '4294967299', 0, '0123456789ab', '', '2023-05-08T12:00:00.000000Z');
INSERT INTO unit_turn VALUES (1, 4294967297, 1), (1, 4294967297, 2);
INSERT INTO unit_record VALUES (1, 4294967298, 2, 0), (1, 4294967299, 2, 1), (1, 4294967299, 3, 0);
INSERT INTO record (number, bank, method, kind, id, text, detail, unit, recorded_at, stage) VALUES
  (4294967298, 1, 'anchor', 'fact', 'f1:tea', 'Ann has tea.', '{}', 1, '2023-05-08T12:00:00.000000Z', 1),
  (4294967299, 1, 'anchor', 'fact', 'f1:eve', 'Ann meets Eve.', '{"n":1}', 1, '2023-05-08T12:00:00.000000Z', 0),
  (4294967300, 1, 'anchor', 'event', 'e1:both', 'Tea with Eve.', '{}', 2, '2023-05-08T12:00:00.000000Z', 0);
INSERT INTO source VALUES (1, 4294967298, 1, 4294967297), (1, 4294967299, 1, 4294967297), (1, 4294967300, 2, 4294967297);
INSERT INTO record_edge VALUES
  (1, 'anchor', 'similar', 4294967298, 4294967299, 0.5),
  (1, 'anchor', 'similar', 4294967299, 4294967298, 0.5);
