/** Empties the whole cache of a service of Fastly (https://www.fastly.com/documentation/reference/api/purging/). */
import type { DeliveryRequest } from '../activity-hooks/webhook-request.ts';
import { fastlyApi, type Fastly } from './fastly.ts';

export const purgeRequest = ({ token, service_id }: Fastly, api = fastlyApi): DeliveryRequest => ({
  method: 'POST',
  url: `${api}/service/${encodeURIComponent(service_id)}/purge_all`,
  headers: { 'fastly-key': token, accept: 'application/json' },
  body: '',
});
