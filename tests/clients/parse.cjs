// Reads one TypeScript source per line of stdin, as JSON; says of each what stands in it: errors of
// syntax, the kinds of its statements, and the identifiers that are called.
const readline = require("node:readline");
const ts = require("typescript");

const CALLED = new Set([ts.SyntaxKind.CallExpression, ts.SyntaxKind.NewExpression]);

function inspect(source) {
  const file = ts.createSourceFile("client.ts", source, ts.ScriptTarget.ES2022, true);
  const called = new Set();
  const visit = (node) => {
    if (CALLED.has(node.kind)) called.add(node.expression.getText(file));
    if (ts.isTaggedTemplateExpression(node)) called.add("a template");
    ts.forEachChild(node, visit);
  };
  visit(file);
  return {
    errors: file.parseDiagnostics.map((each) => each.messageText),
    statements: [...new Set(file.statements.map((each) => ts.SyntaxKind[each.kind]))].sort(),
    called: [...called].sort(),
  };
}

const lines = readline.createInterface({ input: process.stdin });
lines.on("line", (line) => console.log(JSON.stringify(inspect(JSON.parse(line)))));
