/** What other rooms may know of deliveries. */
export { mailLane, recordMail, sendMail } from './mail-delivery.ts';
export { attemptsOf, deliveriesOfIntegration, type SeenAttempt, type SeenDelivery } from './queries.ts';
export { cancelDelivery, hastenIntegration, hastenLane, recordDelivery, repeatDelivery, type NewDelivery } from './record-delivery.ts';
export { askReceiver, sendRequest } from './send-request.ts';
