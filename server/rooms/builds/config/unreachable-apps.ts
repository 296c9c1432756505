/** Relationships with apps that nobody inside the environment can reach: only the edge speaks FastCGI, serves files, and sees sockets. */
import type { Found, Sections } from './families.ts';
import { quoted, type Report } from './message.ts';
import type { App, Container, ProjectModel } from './model.ts';
import { childOf } from './node.ts';

export function warnOfUnreachable({ applications, tasks }: ProjectModel, sections: Sections, report: Report) {
  for (const { name, relationships, workers } of Object.values(applications)) {
    const wanted = [relationships, ...Object.values(workers).map((worker) => worker.relationships)];
    warnOf(Object.assign({}, ...wanted), `applications.${name}`, sections.applications.get(name));
  }
  for (const { name, relationships } of Object.values(tasks)) warnOf(relationships, `tasks.${name}`, sections.tasks.get(name));

  function warnOf(wanted: Container['relationships'], path: string, found: Found | undefined) {
    for (const [relationship, { service }] of Object.entries(wanted)) {
      const reason = Object.hasOwn(applications, service) && applications[service] ? reasonOf(applications[service]) : undefined;
      if (reason === undefined || !found) continue;
      const { at } = childOf(childOf(found.node, 'relationships'), relationship);
      const message = `Nothing will answer there: the application ${quoted(service)} ${reason}. Reach it by its route.`;
      report.warn(at, `${path}.relationships.${relationship}`, message);
    }
  }
}

/** Why an app cannot be reached; undefined: it can. */
function reasonOf({ web: { commands, upstream } }: App): string | undefined {
  if (upstream.protocol === 'fastcgi') return 'speaks FastCGI';
  if (commands.start === null) return 'starts nothing that could answer';
  return upstream.socket_family === 'unix' ? 'listens on a socket, and would have to listen on $PORT, with socket_family: tcp' : undefined;
}
