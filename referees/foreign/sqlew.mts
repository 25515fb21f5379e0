// Makes a database with a release's own code: node --import tsx sqlew.mts CLONE DATABASE
// CLONE is a checkout of sqlew at a tag, beside which its dependencies are installed.
import { existsSync } from "node:fs";

const [, , clone, file] = process.argv;
const tool = (name: string) => {
  const one = `${clone}/src/tools/${name}.ts`;
  return import(existsSync(one) ? one : `${clone}/src/tools/${name}/index.ts`);
};
const database = await import(`${clone}/src/database.ts`);
const context = await tool("context");
const constraints = await tool("constraints");
const takesConfiguration = existsSync(`${clone}/src/adapters`);
const opened = await database.initializeDatabase(
  takesConfiguration ? { databaseType: "sqlite", connection: { filename: file } } : file,
);
if (existsSync(`${clone}/src/utils/project-context.ts`)) {
  const { ProjectContext } = await import(`${clone}/src/utils/project-context.ts`);
  const knex = opened.getKnex ? opened.getKnex() : opened;
  await ProjectContext.getInstance().ensureProject(knex, "shop", "config", { projectRootPath: "/srv/shop" });
}
const of = { layer: "data", scopes: ["gateway"] };
await context.setDecision({ ...of, key: "session_store", value: "memory", agent: "builder", tags: ["security"] });
const later = { version: "2.0.0", status: "draft", tags: ["security", "api"] };
await context.setDecision({ ...of, ...later, key: "session_store", value: "redis", agent: "planner" });
await context.setDecision({ key: "session_ttl", value: 600, agent: "builder" });
const rule = { category: "security", constraint_text: "tokens are never logged", priority: "critical" };
await constraints.addConstraint({ ...rule, layer: "data", tags: ["security"], created_by: "planner" });
// gone in 5
if (existsSync(`${clone}/src/tools/files.ts`) || existsSync(`${clone}/src/tools/files`)) {
  const files = await tool("files");
  const change = { file_path: "src/auth.py", change_type: "modified", layer: "data", description: "refresh tokens" };
  await files.recordFileChange({ ...change, agent_name: "builder" });
}
const messaging = existsSync(`${clone}/src/tools/messaging.ts`) ? await tool("messaging") : {};
if (messaging.sendMessage) {
  const message = { msg_type: "warning", message: "keep off auth", priority: "high", payload: { file: "src/auth.py" } };
  await messaging.sendMessage({ ...message, from_agent: "planner", to_agent: "builder" });
}
// the connection stays open until the process is gone, so that the WAL does too
process.exit(0);
