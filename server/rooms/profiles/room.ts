/** What is known of a person beside their account: the profile, the address, the picture. */
import type { FastifyInstance } from 'fastify';
import { Problem } from '../../kernel/problem.ts';
import type { Room } from '../../kernel/room.ts';
import type { Db } from '../../kernel/sql.ts';
import { picturesPath } from './change-picture.ts';
import * as operations from './operations.ts';
import { pictureByVersion } from './queries.ts';

export const profiles: Room = {
  name: 'Profiles',
  about: 'What is known of a person beside their account: how to call them, where to send an invoice, what they look like.',
  operations,
  mount: (http, { db }) => servePictures(http, db),
};

/** The address of a picture is never reused for another one, so caches may keep the picture. */
const pictureHeaders = { 'cache-control': 'public, max-age=31536000, immutable', 'cross-origin-resource-policy': 'cross-origin' };

function servePictures(http: FastifyInstance, db: Db) {
  http.get<{ Params: { file: string } }>(`${picturesPath}/:file`, async ({ params }, reply) => {
    const version = /^([\w-]{22})\.webp$/.exec(params.file)?.[1];
    const picture = version === undefined ? undefined : await pictureByVersion(db, version);
    if (!picture) throw new Problem('not-found', 'No such picture.');
    return reply.headers(pictureHeaders).type(picture.content_type).send(picture.content);
  });
}
