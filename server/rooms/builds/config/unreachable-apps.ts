/** Relationships with apps that nobody inside the environment can reach: only the edge speaks FastCGI, serves files, and sees sockets. */
import type { Found, Sections } from './families.ts';
import type { Image } from './images.ts';
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

/** What a service has to pass on to such an app would never arrive. */
export function refuseUnreachable({ applications, services }: ProjectModel, sections: Sections, images: readonly Image[], report: Report) {
  for (const { name, type, relationships } of Object.values(services)) {
    if (!images.some((image) => image.type === type && image.service?.reachesApps)) continue;
    for (const [relationship, target] of Object.entries(relationships)) {
      const app = target.split(':', 1)[0] ?? '';
      const reason = Object.hasOwn(applications, app) && applications[app] ? reasonOf(applications[app]) : undefined;
      const found = sections.services.get(name);
      if (reason === undefined || !found) continue;
      const { at } = childOf(childOf(found.node, 'relationships'), relationship);
      const message = `Nothing would answer there: the application ${quoted(app)} ${reason}. Let its route lead to it, without ${quoted(name)} before it.`;
      report.error(at, `services.${name}.relationships.${relationship}`, message);
    }
  }
}

/** Why an app cannot be reached; undefined: it can. */
function reasonOf({ web: { commands, upstream } }: App): string | undefined {
  if (upstream.protocol === 'fastcgi') return 'speaks FastCGI';
  if (commands.start === null) return 'starts nothing that could answer';
  return upstream.socket_family === 'unix' ? 'listens on a socket, and would have to listen on $PORT, with socket_family: tcp' : undefined;
}
