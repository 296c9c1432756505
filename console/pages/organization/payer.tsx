/** Who pays: the address that invoices are made out to, and whom they are sent to. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { billingAddressQuery, billingProfileQuery, type BillingAddress } from '../../api/billing-queries.ts';
import { linkOf } from '../../api/link.ts';
import type { Organization } from '../../api/resources.ts';
import { Bones } from '../../ui/notice.tsx';

export function Payer({ organization }: { organization: Organization }) {
  const queries = useQueryClient();
  const { data: address } = useQuery(billingAddressQuery(organization));
  const { data: profile } = useQuery(billingProfileQuery(organization));
  const changed = () => void queries.invalidateQueries({ queryKey: ['organizations', organization.id] });
  if (!linkOf(organization, 'address') && !linkOf(organization, 'profile')) return undefined;
  return (
    <section className="section" aria-label="Who pays">
      <div className="section-head">
        <h2>Who pays</h2>
        <span className="push row-actions">
          <DeedButton
            resource={address}
            rel="update"
            verb="Change the address"
            asks={['name_line', 'thoroughfare', 'premise', 'postal_code', 'locality', 'administrative_area', 'country']}
            current={address && { ...address }}
            onDone={changed}
          />
          <DeedButton
            resource={profile}
            rel="update"
            verb="Change the details"
            asks={['company_name', 'legal_entity_name', 'vat_number', 'billing_contact']}
            current={profile && { ...profile }}
            onDone={changed}
          />
        </span>
      </div>
      {address && profile ? (
        <dl className="facts">
          <dt>Company</dt>
          <dd>{profile.legal_entity_name || profile.company_name || organization.label}</dd>
          <dt>Address</dt>
          <dd>{addressText(address) || <span className="quiet">none: invoices name only the organization</span>}</dd>
          <dt>VAT number</dt>
          <dd>{profile.vat_number || <span className="quiet">none</span>}</dd>
          <dt>Invoices go to</dt>
          <dd>{profile.billing_contact || profile.email}</dd>
        </dl>
      ) : (
        <Bones rows={4} height={20} />
      )}
    </section>
  );
}

const countryNames = new Intl.DisplayNames(undefined, { type: 'region' });

function addressText({ name_line, thoroughfare, premise, postal_code, locality, administrative_area, country }: BillingAddress): string {
  const town = [postal_code, locality].filter(Boolean).join(' ');
  const named = country === undefined || country === '' ? undefined : (countryNames.of(country) ?? country);
  return [name_line, thoroughfare, premise, town, administrative_area, named].filter(Boolean).join(', ');
}
