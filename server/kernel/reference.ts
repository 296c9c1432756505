/** Publishes the API's description: `/openapi.json`, `/openapi.yaml`, and a page for people at `/docs` that needs no script. */
import type { FastifyInstance } from 'fastify';
import { stringify } from 'yaml';
import { html } from './html.ts';
import { documentPath } from './openapi.ts';

interface OperationObject {
  operationId: string;
  tags: string[];
  summary: string;
  deprecated?: boolean;
  'x-permission'?: string;
  parameters: { name: string; in: string; required?: boolean; schema: unknown }[];
  requestBody?: { content: Record<string, { schema: unknown; example?: unknown }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: unknown }> }>;
}

interface Document {
  info: { title: string; version: string; description: string };
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: { schemas: Record<string, unknown> };
}

export function publishReference(http: FastifyInstance, description: Record<string, unknown>) {
  const json = JSON.stringify(description);
  const yaml = stringify(JSON.parse(json), { aliasDuplicateObjects: false });
  const page = referencePage(JSON.parse(json) as Document).html;
  http.get(documentPath, (_request, reply) => reply.header('content-type', 'application/json; charset=utf-8').send(json));
  http.get('/openapi.yaml', (_request, reply) => reply.header('content-type', 'application/yaml; charset=utf-8').send(yaml));
  http.get('/docs', (_request, reply) =>
    reply
      .header('content-type', 'text/html; charset=utf-8')
      .header('content-security-policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
      .send(page),
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

function referencePage({ info, tags, paths, components }: Document) {
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
          <h2>Signing in</h2>
          <p>Exchange an API token for an access token, valid for 900 seconds, and send it with every request:</p>
          <pre>
curl -u platform-api-user: -d grant_type=api_token -d api_token=$API_TOKEN /oauth2/token
curl -H "Authorization: Bearer $ACCESS_TOKEN" /users/me</pre>
        </header>
        <nav aria-label="Operations">
          ${rooms.map(
            ({ name }) =>
              html`<h2>${name}</h2>
                <ul>
                  ${inRoom(name).map(({ operationId, summary }) => html`<li><a href="#${operationId}">${summary}</a></li>`)}
                </ul>`,
          )}
        </nav>
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
                html`<details id="shape-${name}">
                  <summary><code>${name}</code></summary>
                  <pre>${JSON.stringify(schema, undefined, 2)}</pre>
                </details>`,
            )}
          </section>
        </main>
      </body>
    </html>`;
}

function operationSection(operation: OperationObject & { path: string; method: string }) {
  const { operationId, summary, deprecated, method, path, parameters, requestBody, responses } = operation;
  const body = requestBody?.content['application/json'];
  return html`<section id="${operationId}">
    <h3>${summary}${deprecated && ' (deprecated)'}</h3>
    <p class="endpoint">
      <code><b>${method}</b> ${path}</code>
    </p>
    ${operation['x-permission'] && html`<p>Permission: <code>${operation['x-permission']}</code></p>`}
    ${
      parameters.length > 0 &&
      html`<table>
        <tr>
          <th>Parameter</th>
          <th>In</th>
          <th>Shape</th>
        </tr>
        ${parameters.map(
          (parameter) =>
            html`<tr>
              <td><code>${parameter.name}</code>${parameter.required && ' (required)'}</td>
              <td>${parameter.in}</td>
              <td><code>${JSON.stringify(parameter.schema)}</code></td>
            </tr>`,
        )}
      </table>`
    }
    ${
      body &&
      html`<h4>Body</h4>
        <pre>${JSON.stringify(body.schema, undefined, 2)}</pre>`
    }
    ${
      body?.example !== undefined &&
      html`<h4>Example</h4>
        <pre>${JSON.stringify(body.example, undefined, 2)}</pre>`
    }
    <table>
      <tr>
        <th>Answer</th>
        <th>Meaning</th>
        <th>Shape</th>
      </tr>
      ${Object.entries(responses).map(
        ([status, { description, content }]) =>
          html`<tr>
            <td>${status}</td>
            <td>${description}</td>
            <td>${shapeOf(content?.['application/json']?.schema)}</td>
          </tr>`,
      )}
    </table>
  </section>`;
}

function shapeOf(schema: unknown) {
  const { $ref, items } = (schema ?? {}) as { $ref?: string; items?: { $ref?: string } };
  const name = ($ref ?? items?.$ref)?.split('/').at(-1);
  if (name) return html`<a href="#shape-${name}"><code>${items ? `${name}[]` : name}</code></a>`;
  return schema === undefined ? html`` : html`<code>${JSON.stringify(schema)}</code>`;
}
