CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL, tag TEXT DEFAULT 'none');
INSERT INTO item (name, price) VALUES ('apple', 1.5), ('pear', 2), ('fig', NULL), ('wörld', 0.1);
CREATE TABLE sale (item INTEGER REFERENCES item(id), day DATE, count INT);
INSERT INTO sale VALUES (1, '2024-01-31', 3), (1, '2024-02-29', 4), (2, '2024-02-29', 0);
-- feature: integers_and_texts
SELECT id, name, tag FROM item ORDER BY id;
SELECT 1, -7 / 2, -7 % 3, 9223372036854775807, 'it''s', "name" FROM item LIMIT 1;
-- feature: reals
SELECT price, price * 2, 1.0, 1e10, 1e15, 1e16, 1e100, -0.0, 0.1 + 0.2, 1.0 / 3, 123456789012345678.0, 1e-5 FROM item;
SELECT avg(count), total(count), sum(price), round(2.5), round(2.567, 2), CAST(3 AS REAL) FROM sale, item;
-- feature: infinities
SELECT 9e999, -9e999, 9e999 - 9e999;
-- feature: nulls
SELECT NULL, NULL IS NULL, coalesce(NULL, 'x'), ifnull(price, 0), nullif(1, 1), typeof(price) FROM item;
-- feature: blobs
SELECT x'414243', hex(x'0aff'), length(zeroblob(5)), typeof(x'00');
-- feature: booleans
SELECT TRUE, 1 = 1, NOT 1, 1 BETWEEN 0 AND 2, 'a' LIKE 'A', 'a' GLOB 'A', 'x' IN ('x');
-- feature: joins
SELECT name, count FROM item LEFT JOIN sale ON item.id = sale.item ORDER BY name, count;
SELECT a.id, b.id FROM item a CROSS JOIN item b WHERE a.id < b.id ORDER BY 1, 2;
-- feature: groups
SELECT name, count(*), sum(count), group_concat(day, ';') FROM item JOIN sale ON id = item GROUP BY name HAVING count(*) > 0 ORDER BY 2 DESC;
-- feature: windows
SELECT day, count, row_number() OVER (ORDER BY day, count), sum(count) OVER (PARTITION BY item ORDER BY day), lag(count) OVER (ORDER BY day) FROM sale;
-- feature: recursion
WITH RECURSIVE n(x) AS (VALUES(1) UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT x, x * x FROM n;
-- feature: subqueries
SELECT name FROM item WHERE id IN (SELECT item FROM sale WHERE count > 3);
SELECT (SELECT max(count) FROM sale), EXISTS (SELECT 1 FROM sale WHERE count = 0);
-- feature: compounds
SELECT id FROM item UNION SELECT item FROM sale; SELECT id FROM item EXCEPT SELECT item FROM sale; SELECT 1 INTERSECT SELECT 1;
-- feature: cases
SELECT CASE WHEN price > 1 THEN 'dear' WHEN price IS NULL THEN 'unknown' ELSE 'cheap' END, iif(id = 1, 'first', 'later') FROM item;
-- feature: dates
SELECT date('2024-01-31', '+1 month'), strftime('%Y-%W-%j', '2024-02-29'), julianday('2000-01-01'), datetime(0, 'unixepoch'), time('12:00', '-1 hour');
-- feature: texts
SELECT upper('abc'), length('wörld'), substr('hello', 2, 3), replace('aXa', 'X', '-'), trim('  x '), instr('abc', 'c'), printf('%05.2f|%d|%s', 3.14159, 42, 'x'), char(65, 66), unicode('A'), quote('it''s');
-- feature: json
SELECT json_extract('{"a": [1, 2.5, null]}', '$.a[1]'), json_array(1, 'x'), json_group_array(id) FROM item;
SELECT key, value FROM json_each('{"a": 1, "b": "x"}');
-- feature: mathematics
SELECT abs(-5), max(1, 2), min(1, 2), 5 & 3, 5 | 3, ~5, 1 << 4, 10 / 4, 10 / 4.0, 'a' || 'b', CAST('12x' AS INTEGER);
-- feature: changes
UPDATE item SET price = price * 2 WHERE price IS NOT NULL; DELETE FROM item WHERE name = 'fig'; SELECT changes(), total_changes() > 0, last_insert_rowid(); SELECT name, price FROM item;
INSERT INTO item (id, name) VALUES (1, 'again') ON CONFLICT (id) DO UPDATE SET tag = excluded.name RETURNING id, tag;
REPLACE INTO item (id, name) VALUES (2, 'plum'); SELECT * FROM item;
-- feature: transactions
BEGIN; DELETE FROM sale; SELECT count(*) FROM sale; ROLLBACK; SELECT count(*) FROM sale;
SAVEPOINT s; DELETE FROM sale; ROLLBACK TO s; RELEASE s; SELECT count(*) FROM sale;
-- feature: triggers_and_views
CREATE TABLE log (what TEXT); CREATE TRIGGER noted AFTER INSERT ON sale BEGIN INSERT INTO log VALUES ('sold; ' || NEW.count); END;
INSERT INTO sale VALUES (2, '2024-03-01', 9); SELECT * FROM log; CREATE VIEW dear AS SELECT name FROM item WHERE price > 1; SELECT * FROM dear ORDER BY 1;
-- feature: schemas
SELECT name FROM sqlite_master ORDER BY name; SELECT name, type FROM pragma_table_info('item'); PRAGMA foreign_keys;
CREATE INDEX by_day ON sale (day); ALTER TABLE sale ADD COLUMN note TEXT DEFAULT 'n'; SELECT * FROM sale LIMIT 1; DROP TABLE sale;
-- feature: generated_columns
CREATE TABLE g (a INT, b INT GENERATED ALWAYS AS (a * 2) STORED) STRICT; INSERT INTO g (a) VALUES (21); SELECT * FROM g;
-- feature: affinities
CREATE TABLE f (i INTEGER, t TEXT, r REAL, n NUMERIC, b BLOB); INSERT INTO f VALUES ('1', 2, 3, '4.0', 5), ('x', 1.0, '2', 1e3, 'y'); SELECT *, typeof(i), typeof(t), typeof(r), typeof(n), typeof(b) FROM f;
-- feature: full_text
CREATE VIRTUAL TABLE found USING fts5(body); INSERT INTO found VALUES ('the cat sat'), ('a dog'); SELECT body FROM found WHERE found MATCH 'cat';
-- feature: comments_and_semicolons
SELECT 'a;b' /* ; */, "x;y" FROM (SELECT 1 AS "x;y"); -- the end; really
;; SELECT 2
;
-- feature: newlines_in_texts
SELECT 'two
lines', 'tab	' || char(10) || 'x';
-- feature: plans, differs at every level: asks SQLite for a query plan
EXPLAIN QUERY PLAN SELECT 1;
-- feature: pragmas
PRAGMA user_version = 3; PRAGMA user_version; VALUES (1, 2), (3, 4);
-- feature: attached_databases
ATTACH ':memory:' AS other; CREATE TABLE other.t (x); INSERT INTO other.t VALUES (1); SELECT * FROM other.t; CREATE TEMP TABLE own AS SELECT 5 AS five; SELECT * FROM own;
-- feature: a_failing_statement, alone
SELECT 'before'; SELECT * FROM nothing; SELECT 'after';
-- feature: a_broken_constraint, alone
INSERT INTO item (id, name) VALUES (1, 'twice'); SELECT 'after';
-- feature: a_syntax_error, alone
SELECT 1; SELEC 2;
-- feature: dot_commands, alone, differs at every level: gives dot commands to sqlite3
.headers on
SELECT 1 AS one;
