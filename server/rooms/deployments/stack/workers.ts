import { workersOf, type ProjectModel, type WorkerDocument } from '../../builds/public.ts';

/** The workers of all apps, by `<app>--<worker>`. */
export const workersIn = ({ applications }: Pick<ProjectModel, 'applications'>): Record<string, WorkerDocument> =>
  Object.fromEntries(Object.values(applications).flatMap((app) => Object.entries(workersOf(app))));
