/** What Fastly is asked: to empty the whole cache of a service (https://www.fastly.com/documentation/reference/api/purging/). */
import type { DeliveryRequest } from './webhook-request.ts';

export interface Fastly {
  token: string;
  service_id: string;
}

const usualApi = 'https://api.fastly.com';

export const purgeRequest = ({ token, service_id }: Fastly, api = usualApi): DeliveryRequest => ({
  method: 'POST',
  url: `${api}/service/${encodeURIComponent(service_id)}/purge_all`,
  headers: { 'fastly-key': token, accept: 'application/json' },
  body: '',
});
