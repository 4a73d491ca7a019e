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
-- feature: row_values
SELECT (1, 2) < (1, 3), (1, 'a') = (1, 'a'), (2, 1) IN (SELECT 2, 1); VALUES (1), (2);
-- feature: sorting
SELECT name FROM item ORDER BY price DESC NULLS LAST, name COLLATE NOCASE LIMIT 3 OFFSET 1; SELECT 'a' = 'A' COLLATE NOCASE, 'a ' = 'a' COLLATE RTRIM;
-- feature: patterns
SELECT name FROM item WHERE name LIKE '%p%' ESCAPE '!' ORDER BY 1; SELECT '50%' LIKE '50!%' ESCAPE '!', 'abc' GLOB 'a[a-c]?', 'x' NOT LIKE 'y', 'Ä' LIKE 'ä';
-- feature: filters_of_groups
SELECT item, sum(count) FILTER (WHERE count > 3), count(DISTINCT day), group_concat(DISTINCT count), min(day), max(day) FROM sale GROUP BY 1 ORDER BY 1;
-- feature: frames
SELECT day, sum(count) OVER w, first_value(count) OVER w, ntile(2) OVER w, rank() OVER (ORDER BY day), dense_rank() OVER (ORDER BY day), percent_rank() OVER (ORDER BY count) FROM sale WINDOW w AS (ORDER BY count ROWS BETWEEN 1 PRECEDING AND CURRENT ROW);
-- feature: outer_joins
SELECT name, day FROM sale RIGHT JOIN item ON id = item ORDER BY 1, 2; SELECT count(*) FROM item FULL OUTER JOIN sale ON id = item; SELECT count(*) FROM item NATURAL JOIN (SELECT 1 AS id);
-- feature: common_tables
WITH a AS (SELECT id FROM item WHERE id < 3), b(n) AS (SELECT count(*) FROM a) SELECT * FROM a, b ORDER BY 1;
WITH RECURSIVE fib(a, b) AS (VALUES (0, 1) UNION ALL SELECT b, a + b FROM fib LIMIT 91) SELECT max(a) FROM fib;
-- feature: walks_of_trees
CREATE TABLE node (id INTEGER PRIMARY KEY, parent INT, name TEXT); INSERT INTO node VALUES (1, NULL, 'root'), (2, 1, 'left'), (3, 1, 'right'), (4, 2, 'leaf');
WITH RECURSIVE path(id, way) AS (SELECT id, name FROM node WHERE parent IS NULL UNION ALL SELECT node.id, way || '/' || name FROM node JOIN path ON parent = path.id) SELECT way FROM path ORDER BY way;
-- feature: correlations
SELECT name, (SELECT count(*) FROM sale WHERE item = i.id) FROM item i WHERE NOT EXISTS (SELECT 1 FROM sale WHERE item = i.id AND count > 3) ORDER BY 1;
-- feature: updates_from_others
UPDATE item SET price = s.total FROM (SELECT item, sum(count) AS total FROM sale GROUP BY item) AS s WHERE s.item = item.id; SELECT name, price FROM item ORDER BY id; DELETE FROM item WHERE price IS NULL RETURNING name;
-- feature: big_integers
SELECT 9223372036854775807 + 1, -9223372036854775808, 0x7fffffffffffffff, 1 << 62, 5 % 0, 5 / 0, CAST(1e18 AS INTEGER), CAST('9e3' AS REAL), 4611686018427387904 * 4;
-- feature: formats_of_numbers
SELECT printf('%d|%5d|%-5d|%+d|%x|%o|%e|%g|%.3f|%,d|%c|%%|%q|%Q', 42, 42, 42, 42, 255, 8, 12345.678, 0.0001, 2.0005, 1234567, 'x', 'it''s', 'it''s'), round(-2.5), round(1234.567, -1), trunc(2.7), sqrt(2), pow(2, 10), sign(-3), pi();
-- feature: modifiers_of_dates
SELECT date('2024-03-31', 'start of month', '-1 day'), date('2024-02-29', '+1 year'), strftime('%w %H:%M:%f', '2024-02-29 12:30:45.678'), date('2024-01-01', 'weekday 0'), unixepoch('2024-01-01'), julianday('2024-03-01') - julianday('2024-02-01'), date('nonsense'), date('now') > '2020';
-- feature: unicode
SELECT length('日本 😀'), upper('é'), hex('é'), substr('日本', 2), unicode('😀'), char(233, 128512), instr('日本', '本'), reverse FROM (SELECT 'x' AS reverse);
-- feature: changes_of_json
SELECT json_set('{"a":1}', '$.b', json('[1,2]')), json_remove('[1,2,3]', '$[1]'), json_type('{"a":null}', '$.a'), '{"a":{"b":5}}' -> 'a' ->> 'b', json_valid('{'), json_patch('{"a":1}', '{"a":null}'), json_object('k', 1.0, 'n', NULL), json_array_length('[1,2]'), json_quote('x"');
SELECT fullkey, atom FROM json_tree('{"a": [1, {"b": true}]}') WHERE atom IS NOT NULL;
-- feature: constraints
CREATE TABLE strictly (n INT CHECK (n > 0) UNIQUE, t TEXT DEFAULT 'd' COLLATE NOCASE, PRIMARY KEY (n, t)) WITHOUT ROWID; INSERT OR IGNORE INTO strictly VALUES (1, 'a'), (1, 'b'); INSERT INTO strictly (n) VALUES (2); SELECT * FROM strictly; CREATE UNIQUE INDEX part ON strictly (t) WHERE n > 1;
-- feature: cascades
PRAGMA foreign_keys = ON; CREATE TABLE up (id INTEGER PRIMARY KEY); CREATE TABLE below (up INT REFERENCES up ON DELETE CASCADE); INSERT INTO up VALUES (1), (2); INSERT INTO below VALUES (1), (1), (2); DELETE FROM up WHERE id = 1; SELECT count(*) FROM below;
-- feature: a_broken_check, alone
CREATE TABLE c (n INT CHECK (n > 0)); SELECT 'before'; INSERT INTO c VALUES (-1); SELECT 'after';
-- feature: a_failing_statement, alone
SELECT 'before'; SELECT * FROM nothing; SELECT 'after';
-- feature: a_broken_constraint, alone
INSERT INTO item (id, name) VALUES (1, 'twice'); SELECT 'after';
-- feature: a_syntax_error, alone
SELECT 1; SELEC 2;
-- feature: dot_commands, alone, differs at every level: uses dot commands of sqlite3
.headers on
SELECT 1 AS one;
