-- The schema and the roles of one team, in the database that psql is connected to. A second run changes nothing more.
--   psql --dbname satchel --set team=shop --file deploy/postgresql/roles.sql
-- Whoever runs it is a superuser, or owns the database and may create roles.
--   TEAM_owner   makes, migrates and keeps the tables; who runs this may also act as it
--   TEAM_server  reads and writes rows: `satchel serve`
--   TEAM_reader  reads: reports, backups
-- They have no password; \password TEAM_server of psql gives one, without showing it to the server.
\set ON_ERROR_STOP on
\if :{?team}
\else
\set team ''
\endif
SELECT :'team' ~ '^[a-z][a-z0-9_]{0,55}$' AS is_name \gset
\if :is_name
\else
DO $$ BEGIN RAISE 'the name of a team has lower-case letters, digits and underscores, and begins with a letter'; END $$;
\endif
\set owner :team _owner
\set server :team _server
\set reader :team _reader

SET client_min_messages = warning; -- not that a second run finds what the first has made
BEGIN;
SELECT format('CREATE ROLE %I LOGIN', name) FROM (VALUES (:'owner'), (:'server'), (:'reader')) AS role (name)
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
GRANT :"owner" TO CURRENT_USER;

GRANT CONNECT, TEMPORARY ON DATABASE :"DBNAME" TO :"owner"; -- some migrations keep rows in temporary tables
GRANT CONNECT ON DATABASE :"DBNAME" TO :"server", :"reader";
CREATE SCHEMA IF NOT EXISTS :"team" AUTHORIZATION :"owner";
GRANT USAGE ON SCHEMA :"team" TO :"server", :"reader";

-- the tables that there are, and those that migrations will make
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA :"team" TO :"server";
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA :"team" TO :"server";
GRANT SELECT ON ALL TABLES IN SCHEMA :"team" TO :"reader";
GRANT SELECT ON ALL SEQUENCES IN SCHEMA :"team" TO :"reader"; -- pg_dump reads them too
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"team"
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO :"server";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"team" GRANT USAGE, SELECT ON SEQUENCES TO :"server";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"team" GRANT SELECT ON TABLES TO :"reader";
ALTER DEFAULT PRIVILEGES FOR ROLE :"owner" IN SCHEMA :"team" GRANT SELECT ON SEQUENCES TO :"reader";
COMMIT;
