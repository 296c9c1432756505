/** The domains of a project: where each has to lead, whether it is served with a certificate, and what hinders that. */
import { useQuery } from '@tanstack/react-query';
import { LinkButton } from '../../actions/link-button.tsx';
import { addressOf } from '../../api/environment-standing.ts';
import { certificatesQuery, domainsQuery, type Certificate, type Domain } from '../../api/project-queries.ts';
import { environmentsQuery } from '../../api/queries.ts';
import type { Project } from '../../api/resources.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Bones } from '../../ui/notice.tsx';
import { Badge } from '../../ui/status.tsx';
import { Failure } from '../page.tsx';
import { ProjectThings, ThingsHead, useChanged } from './project-things.tsx';

export const DomainsPage = () => <ProjectThings title="Domains">{(project) => <Domains project={project} />}</ProjectThings>;

function Domains({ project }: { project: Project }) {
  const { data: domains, error } = useQuery(domainsQuery(project));
  const { data: environments } = useQuery(environmentsQuery(project.id));
  const changed = useChanged(project.id);
  const production = environments?.find(({ is_main }) => is_main);
  const address = production && addressOf(production);
  const add = (
    <LinkButton
      resource={project}
      rel="#manage-domains"
      name="Add a domain"
      title="Add a domain"
      verb="Add it"
      buttonClass="button primary"
      asks={['name', 'is_default']}
      onDone={changed}
    />
  );
  return (
    <>
      <ThingsHead button={add}>
        Visitors of these names get the production environment, as its routes say. A domain needs a record in its DNS, which whoever has the
        name sets; the certificate comes by itself once it is there.
      </ThingsHead>
      {error && <Failure error={error} />}
      {!domains && !error && <Bones rows={3} height={40} />}
      {domains?.length === 0 && (
        <div className="empty">
          <p>No domain yet: production is reached at the address that the platform gave it.</p>
        </div>
      )}
      {domains && domains.length > 0 && (
        <DomainTable domains={domains} target={address === undefined ? undefined : new URL(address).hostname} onChange={changed} />
      )}
      <Certificates project={project} />
    </>
  );
}

interface Table {
  domains: readonly Domain[];
  /** Where records are to lead. */
  target: string | undefined;
  onChange(): void;
}

const DomainTable = ({ domains, target, onChange }: Table) => (
  <table className="table cards">
    <thead>
      <tr>
        <th scope="col">Domain</th>
        <th scope="col">Record to set</th>
        <th scope="col">Certificate</th>
        <th scope="col">
          <span className="unseen">Actions</span>
        </th>
      </tr>
    </thead>
    <tbody>
      {domains.map((domain) => (
        <tr key={domain.id}>
          <th scope="row">
            <span className="mono">{domain.name}</span> {domain.is_default && <span className="tag plain">default</span>}
          </th>
          <td data-label="Record to set">{target !== undefined && <Record text={`${domain.name}. CNAME ${target}.`} />}</td>
          <td data-label="Certificate">
            <CertificateState ssl={domain.ssl} />
          </td>
          <td className="end">
            <LinkButton
              resource={domain}
              rel="#delete"
              name="Delete"
              label={`Delete ${domain.name}`}
              title={`Delete ${domain.name}`}
              verb="Delete it"
              guard={{ loses: 'Visitors of this name no longer get anything from this project.', name: domain.name }}
              onDone={onChange}
            />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
);

const Record = ({ text }: { text: string }) => (
  <span className="row">
    <code>{text}</code>
    <CopyButton text={text} label="Copy the record" />
  </span>
);

/** What hinders an automatic certificate is, most of all, that the record is missing or leads elsewhere: the API says which. */
const CertificateState = ({ ssl: { has_certificate, expires_on, trouble } }: Pick<Domain, 'ssl'>) => (
  <>
    <Badge of={trouble !== undefined ? 'failed' : has_certificate ? 'active' : 'building'}>
      {trouble !== undefined ? 'In trouble' : has_certificate ? 'Served over https' : 'On its way'}
    </Badge>
    {trouble !== undefined && <p className="small">{trouble}</p>}
    {expires_on !== undefined && <p className="quiet small">until {new Date(expires_on).toLocaleDateString()}</p>}
  </>
);

function Certificates({ project }: { project: Project }) {
  const { data: certificates } = useQuery(certificatesQuery(project));
  const changed = useChanged(project.id);
  if (!certificates || certificates.length === 0) return undefined;
  return (
    <section className="section" aria-label="Certificates">
      <div className="section-head">
        <h2>Certificates</h2>
      </div>
      <table className="table cards">
        <thead>
          <tr>
            <th scope="col">For</th>
            <th scope="col">From</th>
            <th scope="col">Ends</th>
            <th scope="col">
              <span className="unseen">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {certificates.map((certificate) => (
            <CertificateRow key={certificate.id} certificate={certificate} onChange={changed} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

const CertificateRow = ({ certificate, onChange }: { certificate: Certificate; onChange(): void }) => (
  <tr>
    <th scope="row" className="mono">
      {certificate.domains.join(', ')}
    </th>
    <td data-label="From">{certificate.is_provisioned ? 'came by itself' : 'given'}</td>
    <td data-label="Ends">{new Date(certificate.expires_at).toLocaleDateString()}</td>
    <td className="end">
      <LinkButton
        resource={certificate}
        rel="#delete"
        name="Delete"
        label={`Delete the certificate for ${certificate.domains.join(', ')}`}
        title="Delete the certificate"
        verb="Delete it"
        onDone={onChange}
      />
    </td>
  </tr>
);
