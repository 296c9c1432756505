/** The domains of a project: where each has to lead, whether it is served with a certificate, and what hinders that. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { hrefOf } from '../../api/link.ts';
import { certificatesQuery, domainDnsQuery, domainsQuery, type Certificate, type Domain } from '../../api/project-queries.ts';
import type { Project } from '../../api/resources.ts';
import { useProjectChanged } from '../../api/use-project-changed.ts';
import { CopyButton } from '../../ui/copy-button.tsx';
import { FailureNotice } from '../../ui/notice.tsx';
import { Badge } from '../../ui/status.tsx';
import { actionsColumn, curlOf, List } from '../list-page.tsx';
import { ProjectThings } from './project-things.tsx';

export const DomainsPage = () => <ProjectThings title="Domains">{(project) => <Domains project={project} />}</ProjectThings>;

function Domains({ project }: { project: Project }) {
  const { data: domains, error } = useQuery(domainsQuery(project));
  const changed = useProjectChanged(project.id);
  const add = (
    <DeedButton
      resource={project}
      rel="#manage-domains"
      says="Add a domain"
      title="Add a domain"
      verb="Add it"
      look="button primary"
      asks={['name', 'is_default']}
      onDone={changed}
    />
  );
  return (
    <>
      <List
        title="Domains"
        about="Visitors of these names get the production environment, as its routes say. A domain needs a record in its DNS, which whoever has the name sets; the certificate comes by itself once it is there."
        button={add}
        rows={domains}
        error={error}
        columns={['Domain', 'DNS', 'Certificate', actionsColumn]}
        empty={{
          says: 'No domain yet: production is reached at the address that the platform gave it.',
          cli: `upsun domain:add www.example.org --project ${project.id}`,
          curl: curlOf('POST', hrefOf(project, '#manage-domains'), { name: 'www.example.org' }),
        }}
      >
        {(domain) => <DomainRow key={domain.id} project={project.id} domain={domain} onChange={changed} />}
      </List>
      <Certificates project={project} />
    </>
  );
}

interface DomainRow {
  project: string;
  domain: Domain;
  onChange(): void;
}

const DomainRow = ({ project, domain, onChange }: DomainRow) => (
  <tr>
    <th scope="row">
      <span className="mono">{domain.name}</span> {domain.is_default && <span className="tag plain">default</span>}
    </th>
    <td data-label="DNS">
      <Dns project={project} domain={domain} />
    </td>
    <td data-label="Certificate">
      <CertificateState ssl={domain.ssl} />
    </td>
    <td className="end">
      <DeedButton
        resource={domain}
        rel="#delete"
        says="Delete"
        label={`Delete ${domain.name}`}
        title={`Delete ${domain.name}`}
        look="button tiny"
        verb="Delete it"
        guard={{ loses: 'Visitors of this name no longer get anything from this project.', name: domain.name }}
        onDone={onChange}
      />
    </td>
  </tr>
);

/** What to set, until it is set. Whoever has just set it looks again. */
function Dns({ project, domain }: Pick<DomainRow, 'project' | 'domain'>) {
  const { data: dns, error, isFetching, refetch } = useQuery(domainDnsQuery(project, domain));
  if (error) return <FailureNotice>{error.message}</FailureNotice>;
  if (!dns) return <span className="quiet">Looking it up…</span>;
  return (
    <div className="stack dns">
      <span className="row wrap">
        <Badge of={dns.is_set ? 'active' : dns.is_set === null ? 'paused' : 'failed'}>
          {dns.is_set ? 'Set' : dns.is_set === null ? 'Not known' : 'Not set'}
        </Badge>
        <span className="small">{dns.says}</span>
        <button
          type="button"
          className="button tiny"
          aria-label={`Look up ${domain.name} again`}
          disabled={isFetching}
          onClick={() => void refetch()}
        >
          Look again
        </button>
      </span>
      {!dns.is_set &&
        dns.records.map((record) => <Record key={record.value} text={`${record.name}. ${record.type} ${lastPartOf(record)}`} />)}
    </div>
  );
}

/** A name ends with a dot, or name servers would add the zone to it. */
const lastPartOf = ({ type, value }: { type: string; value: string }) => (type === 'CNAME' ? `${value}.` : value);

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
  const changed = useProjectChanged(project.id);
  if (!certificates || certificates.length === 0) return undefined;
  return (
    <List
      title="Certificates"
      hasHeading
      rows={certificates}
      error={null}
      columns={['For', 'From', 'Ends', actionsColumn]}
      empty={{ says: 'No certificate yet.' }}
    >
      {(certificate) => <CertificateRow key={certificate.id} certificate={certificate} onChange={changed} />}
    </List>
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
      <DeedButton
        resource={certificate}
        rel="#delete"
        says="Delete"
        label={`Delete the certificate for ${certificate.domains.join(', ')}`}
        title="Delete the certificate"
        look="button tiny"
        verb="Delete it"
        onDone={onChange}
      />
    </td>
  </tr>
);
