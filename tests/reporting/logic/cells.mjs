// Payloads on standard input -> every cell and metric that the page computes, on standard output.
import { readFileSync } from "node:fs";
import { ASSETS } from "./fixture.mjs";

const { METHODS, readStudy } = await import(`${ASSETS}/model.js`);
const { classMetrics } = await import(`${ASSETS}/metrics.js`);

const plain = (values) => Array.from(values, (value) => (Number.isFinite(value) ? value : null));

const answers = JSON.parse(readFileSync(0, "utf8")).map((payload) => {
  const study = readStudy(payload);
  const [model] = study.models;
  const metrics = classMetrics(model.dense("counts"), study.n);
  return {
    cells: Object.fromEntries([...METHODS, "bi-epsilon"].map((method) => [method, plain(model.dense(method))])),
    classes: Object.fromEntries(Object.entries(metrics).map(([name, values]) => [name, plain(values)])),
    scores: model.scores,
  };
});
process.stdout.write(JSON.stringify(answers));
