/** Publishes the API's description: `/openapi.json`, `/openapi.yaml`, and a page for people at `/docs` that needs no script. */
import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import { sendJson } from './errors.ts';
import { html, type Part } from './html.ts';
import { documentPath } from './openapi.ts';

interface OperationObject {
  operationId: string;
  tags: string[];
  summary: string;
  deprecated?: boolean;
  'x-permission'?: string;
  parameters: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
}

interface Document {
  servers: { url: string }[];
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, Schema> };
}

export function publishReference(http: FastifyInstance, description: Record<string, unknown>) {
  const json = JSON.stringify(description);
  /** The page and the YAML are made when they are first asked for: both take longer than everything else here. */
  let yaml: string | undefined;
  let page: string | undefined;
  http.get(documentPath, (_request, reply) => sendJson(reply, json));
  http.get('/openapi.yaml', (_request, reply) =>
    reply
      .header('content-type', 'application/yaml; charset=utf-8')
      .send((yaml ??= stringify(JSON.parse(json), { aliasDuplicateObjects: false }))),
  );
  http.get('/docs', (_request, reply) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
      .send((page ??= referencePage(JSON.parse(json) as Document).html)),
  );
}

const style = html`<style>
  :root {
    color-scheme: light dark;
    font:
      16px/1.5 system-ui,
      sans-serif;
  }
  body {
    margin: 0 auto;
    max-width: 60rem;
    padding: 1rem 1.5rem 4rem;
  }
  code,
  pre {
    font:
      0.875rem/1.5 ui-monospace,
      monospace;
  }
  pre {
    overflow-x: auto;
    padding: 0.75rem;
    border: 1px solid #8884;
    border-radius: 6px;
  }
  section > h3 {
    margin-top: 2rem;
    border-top: 1px solid #8884;
    padding-top: 1.5rem;
  }
  .endpoint {
    font-weight: 600;
    overflow-wrap: anywhere;
  }
  .endpoint b {
    display: inline-block;
    min-width: 4.5rem;
  }
  td code {
    overflow-wrap: anywhere;
  }
  table {
    border-collapse: collapse;
    width: 100%;
  }
  th,
  td {
    text-align: left;
    vertical-align: top;
    padding: 0.25rem 0.75rem 0.25rem 0;
    border-bottom: 1px solid #8883;
  }
  nav ul {
    columns: 2;
    padding-left: 1.2rem;
  }
</style>`;

function referencePage({ servers: [server], info, tags, paths, components }: Document) {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ ...operation, path, method: method.toUpperCase() })),
  );
  const inRoom = (name: string) => operations.filter((operation) => operation.tags.includes(name));
  const rooms = tags.filter(({ name }) => inRoom(name).length > 0);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${info.title} API reference</title>
        ${style}
      </head>
      <body>
        <header>
          <h1>${info.title} API ${info.version}</h1>
          <p>${info.description}</p>
          <p>As a file: <a href="/openapi.json">openapi.json</a>, <a href="/openapi.yaml">openapi.yaml</a>.</p>
          <p>Exchange an API token for an access token, valid for 900 seconds, and send it with every request:</p>
          <pre>
curl -u platform-api-user: -d grant_type=api_token -d api_token=$API_TOKEN ${server?.url}/oauth2/token
curl -H "Authorization: Bearer $ACCESS_TOKEN" ${server?.url}/users/me</pre>
        </header>
        <nav aria-label="Operations">${rooms.map(({ name }) => [html`<h2>${name}</h2>`, contents(inRoom(name))])}</nav>
        <main>
          ${rooms.map(
            ({ name, description }) =>
              html`<section>
                <h2>${name}</h2>
                <p>${description}</p>
                ${inRoom(name).map(operationSection)}
              </section>`,
          )}
          <section>
            <h2>Shapes</h2>
            ${Object.entries(components.schemas).map(
              ([name, schema]) =>
                html`<section id="shape-${name}">
                  <h3><code>${name}</code></h3>
                  ${fieldTable(schema)}
                </section>`,
            )}
          </section>
        </main>
      </body>
    </html>`;
}

const contents = (operations: OperationObject[]) =>
  html`<ul>
    ${operations.map(({ operationId, summary }) => html`<li><a href="#${operationId}">${summary}</a></li>`)}
  </ul>`;

function operationSection(operation: OperationObject & { path: string; method: string }) {
  const { operationId, summary, deprecated, method, path, parameters, requestBody, responses } = operation;
  const permission = operation['x-permission'];
  const [body] = Object.values(requestBody?.content ?? {});
  const parameterRows = parameters.map(({ name, in: place, required, schema }) => [nameCell(name, required), place, valueCell(schema)]);
  const answerRows = Object.entries(responses).map(([status, { description, content }]) => [
    status,
    description,
    valueCell(content?.['application/json']?.schema),
  ]);
  return html`<section id="${operationId}">
    <h3>${summary}${deprecated && ' (deprecated)'}</h3>
    <p class="endpoint">
      <code><b>${method}</b> ${path}</code>
    </p>
    ${permission && html`<p>Permission: <code>${permission}</code></p>`}
    ${parameterRows.length > 0 && [html`<h4>Parameters</h4>`, table(['Name', 'In', 'Value'], parameterRows)]}
    ${body && [html`<h4>Body</h4>`, fieldTable(body.schema)]}
    ${body?.example !== undefined && html`<pre>${JSON.stringify(body.example, undefined, 2)}</pre>`}
    <h4>Answers</h4>
    ${table(['Status', 'Meaning', 'Body'], answerRows)}
  </section>`;
}

const table = (heads: string[], rows: Part[][]) =>
  html`<table>
    <tr>
      ${heads.map((head) => html`<th>${head}</th>`)}
    </tr>
    ${rows.map(
      (cells) =>
        html`<tr>
          ${cells.map((cell) => html`<td>${cell}</td>`)}
        </tr>`,
    )}
  </table>`;

const nameCell = (name: string, required: boolean | undefined) => html`<code>${name}</code>${required && ' (required)'}`;

interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  pattern?: string;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  description?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
}

const fieldTable = ({ properties = {}, required = [] }: Schema) =>
  table(
    ['Field', 'Value'],
    Object.entries(properties).map(([name, schema]) => [nameCell(name, required.includes(name)), valueCell(schema)]),
  );

/** What a value may be: a link to its shape, the fields of an object without a name, or type and limits in words. */
function valueCell(schema: Schema | undefined): Part {
  if (schema === undefined) return '';
  const { $ref, items, properties, description } = schema;
  if ($ref) return shapeLink($ref, '');
  if (items?.$ref) return shapeLink(items.$ref, ' (list)');
  if (properties) return fieldTable(schema);
  return html`<code>${limitsOf(schema)}</code> ${description}`;
}

function shapeLink(reference: string, suffix: string) {
  const name = reference.split('/').at(-1) ?? '';
  return html`<a href="#shape-${name}"><code>${name}</code></a
    >${suffix}`;
}

function limitsOf({ type, format, enum: values, pattern, maxLength, minimum, maximum, items }: Schema): string {
  return [
    items ? `list of ${limitsOf(items)}` : (format ?? [type].flat().join(' or ')),
    ...(values ? [values.join(' | ')] : []),
    ...(pattern ? [`like ${pattern}`] : []),
    ...(maxLength === undefined ? [] : [`at most ${maxLength} characters`]),
    ...(minimum === undefined ? [] : [`from ${minimum}`]),
    ...(maximum === undefined ? [] : [`to ${maximum}`]),
  ].join(', ');
}
