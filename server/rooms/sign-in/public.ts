/** What other rooms, and entrances other than the API, may use of signing in. */
/** `main` creates missing keys on the first start, in a transaction, and opens the keys on every start. */
export { createKeys, openKeys } from './keys.ts';
/** Turns access tokens into callers, for the platform. */
export { createCallerOf } from './caller.ts';
/** For entrances other than the API, such as SSH. */
export { certify, proofOfCertificate } from './ssh-certificate.ts';
/** For rooms that set or check passwords. */
export { newPasswordHash } from './new-password.ts';
export { hashPassword, isPassword } from './passwords.ts';
/** For rooms that manage second factors. */
export { addSecondFactor, removeSecondFactor, replaceRecoveryCodes } from './second-factor.ts';
export { bytesOfBase32, newTotpSecret, stepOf } from './totp.ts';
/** For everything else that must not be tried too often. */
export { countAttempts, countLink, countToken, forgetAttempts, networkOf } from './attempts.ts';
/** For rooms that have proof that a person is at their own browser. */
export { knownBrowserOf, rememberBrowser } from './known-browser.ts';
/** For pages of other rooms, so that they look the same and their forms are guarded in the same way. */
export { fieldCharactersMax, formBytesMax, formOf } from './forms.ts';
export { alert, answerPageError, layout, pageHeaders } from './layout.ts';
/** For pages that are meant for one signed-in person. */
export { openBrowserSession } from './browser-session.ts';
/** For operators, who see and end everybody's. */
export { allSignIns, SignInEntity } from './sign-ins.ts';
/** For rooms that change passwords or deactivate people. */
export { signOutElsewhere, signOutEverywhere } from './queries.ts';
