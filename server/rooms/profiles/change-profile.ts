import type { Caller, Platform } from '../../platform.ts';
import { tellPasswordChanged } from '../security/public.ts';
import { newPasswordHash, signOutElsewhere } from '../sign-in/public.ts';
import { changeUser, userById } from '../users/public.ts';
import { changeProfile, profileOf, type Profile } from './queries.ts';

interface Changes {
  display_name?: string;
  username?: string;
  picture?: string;
  company_name?: string;
  company_type?: string;
  company_role?: string;
  vat_number?: string;
  ui_colorscheme?: string;
  default_catalog?: string;
  project_options_url?: string;
  marketing?: boolean;
}

interface Wanted {
  changes: Changes;
  passwords?: { present: string; next: string };
}

/** Makes all changes or none. A new password ends every other sign-in of the user. */
export async function changeProfileOf(
  platform: Platform,
  caller: Caller,
  userId: string,
  { changes, passwords }: Wanted,
): Promise<Profile> {
  const { db } = platform;
  const owner = await userById(db, userId);
  const password_hash = owner && passwords && (await newPasswordHash(db, owner, passwords));
  const { display_name, username, picture, company_name, ...details } = changes;
  const profile = await db.transaction().execute(async (tx) => {
    await changeUser(tx, userId, {
      ...(display_name !== undefined && namesOf(display_name)),
      ...(username !== undefined && { username }),
      ...(picture !== undefined && { picture }),
      ...(company_name !== undefined && { company: company_name }),
      ...(password_hash !== undefined && { password_hash }),
    });
    if (Object.keys(details).length > 0) await changeProfile(tx, userId, details);
    if (password_hash !== undefined) await signOutElsewhere(tx, userId, caller.via);
    const changed = await profileOf(tx, userId);
    if (changed && password_hash !== undefined) await tellPasswordChanged(tx, platform, changed.email);
    return changed;
  });
  if (!profile) throw new Error('The profile vanished while it was changed');
  return profile;
}

/** A display name is stored as two: the first name is what stands before the first space, the last name is the rest. */
function namesOf(displayed: string) {
  const [first_name = '', ...rest] = displayed.trim().split(/\s+/);
  return { first_name, last_name: rest.join(' ') };
}
