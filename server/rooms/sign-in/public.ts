/** What other rooms and other doors than the API's may use of signing in. */
/** Main makes the missing keys on the first start, in a transaction, and opens them on every start. */
export { createKeys, openKeys } from './keys.ts';
/** Turns access tokens into callers, for the platform. */
export { createCallerOf } from './caller.ts';
/** For other doors than the API's. */
export { certify, proofOfCertificate } from './ssh-certificate.ts';
/** For whoever sets or checks a password. */
export { newPasswordHash } from './new-password.ts';
export { hashPassword, isPassword } from './passwords.ts';
/** For whoever manages a second factor. */
export { addSecondFactor, removeSecondFactor, replaceRecoveryCodes } from './second-factor.ts';
export { bytesOfBase32, newTotpSecret, stepOf } from './totp.ts';
/** For whatever else must not be tried too often. */
export { countAttempts, countLink, countToken, forgetAttempts, networkOf } from './attempts.ts';
/** For whoever knows that a person is at their own browser. */
export { knownBrowserOf, rememberBrowser } from './known-browser.ts';
/** For pages of other rooms: the same look, and the same guard of their forms. */
export { fieldCharactersMax, formBytesMax, formOf } from './forms.ts';
export { alert, answerPageError, layout, pageHeaders } from './layout.ts';
/** For pages that are for somebody in particular. */
export { openBrowserSession } from './browser-session.ts';
/** For whoever changes a password or deactivates a person. */
export { signOutElsewhere, signOutEverywhere } from './queries.ts';
