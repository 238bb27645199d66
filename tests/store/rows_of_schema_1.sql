INSERT INTO bank VALUES (1, 'alpha', 'UTC', 'words:1', 0, NULL, 0, '2023-05-08T12:00:00.000000Z', 1, 0, 1, 1, 3, 1, 1);
INSERT INTO edition VALUES (1, 0, 'words:1');
INSERT INTO session VALUES (4294967297, 1, 's1', NULL, NULL, NULL, 0, '2023-05-08T12:00:00.000000Z', 0, '{}', 1, 3, 1);
INSERT INTO turn VALUES (4294967297, 1, 4294967297, 0, 3, 0, '2023-05-08T12:00:00.000000Z', 0, NULL, 0, '2023-05-08T12:00:00.000000Z', 'user', 'Ann', 't1:n2uhfxdqdelfnyoijs3qwboaqv', 'c1:zn4dptmq3f6arqvqrxg7txaslt', 'Tea with Eve', '[]', '{}', NULL, 'Tea with Eve');
INSERT INTO analysis VALUES (1, 0, 4294967297, 3, 0, '{"term":{"tea":1,"with":1,"eve":1},"key":{"Tea":1,"Eve":1}}');
INSERT INTO posting VALUES
  (1, 0, 'term', 'tea', 4294967297, 4294967297, 1, 3),
  (1, 0, 'term', 'with', 4294967297, 4294967297, 1, 3),
  (1, 0, 'term', 'eve', 4294967297, 4294967297, 1, 3),
  (1, 0, 'key', 'Tea', 4294967297, 4294967297, 1, 3),
  (1, 0, 'key', 'Eve', 4294967297, 4294967297, 1, 3);
