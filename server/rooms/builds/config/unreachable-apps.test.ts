import { expect, test } from 'vitest';
import { readText, said } from './test-trees.ts';

const related = async (back: string) => {
  const { warnings, errors } = await readText(`applications:
  front:
    type: nodejs:22
    source: {root: /}
    relationships: {behind: 'back:http'}
    web: {commands: {start: node server.js}}
    workers: {queue: {commands: {start: sleep 1}}}
  back: ${back}
routes: {'https://{default}/': {type: upstream, upstream: 'front:http'}}
`);
  expect(errors).toBeUndefined();
  return said(warnings);
};

test('whoever relies on an application that nobody inside can reach is told so, once', async () => {
  const warning = (reason: string) => [
    `5:29 applications.front.relationships.behind: Nothing will answer there: the application "back" ${reason}. Reach it by its route.`,
  ];
  expect(await related(`{type: 'nodejs:22', web: {commands: {start: node server.js}}}`)).toEqual([]);
  expect(await related(`{type: 'php:8.2', web: {locations: {/: {passthru: /index.php}}}}`)).toEqual(warning('speaks FastCGI'));
  expect(await related(`{type: 'static:1', web: {locations: {/: {root: ''}}}}`)).toEqual(warning('starts nothing that could answer'));
  expect(await related(`{type: 'nodejs:22', web: {commands: {start: node server.js}, upstream: {socket_family: unix}}}`)).toEqual(
    warning('listens on a socket, and would have to listen on $PORT, with socket_family: tcp'),
  );
});

test('a task that relies on such an application is told so, too', async () => {
  const { warnings } = await readText(`applications:
  back: {type: 'static:1', web: {locations: {/: {root: ''}}}}
tasks:
  report:
    type: nodejs:22
    run: {command: x}
    relationships: {behind: 'back:http'}
`);
  expect(said(warnings)).toEqual([
    '7:29 tasks.report.relationships.behind: Nothing will answer there: the application "back" starts nothing that could answer. Reach it by its route.',
  ]);
});
