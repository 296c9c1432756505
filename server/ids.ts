/** How the product's things are named in addresses. */
import { Type } from 'typebox';
import { slashesAllowed } from './kernel/names-with-slashes.ts';

export const ProjectId = Type.String({ pattern: '^[a-z0-9]{1,64}$' });
export const ActivityId = Type.String({ pattern: '^[a-z0-9]{1,64}$' });
/** The name of a Git branch, slashes and all. */
export const EnvironmentId = Type.String({ minLength: 1, maxLength: 250, [slashesAllowed]: true });
