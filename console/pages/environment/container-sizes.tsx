/** What each container may use. */
import type { Container, Deployment } from '../../api/resources.ts';

export function ContainerSizes({ deployment }: { deployment: Deployment }) {
  const containers = Object.entries({ ...deployment.webapps, ...deployment.workers, ...deployment.services });
  return (
    <section className="section" aria-label="Resources">
      <div className="section-head">
        <h2>Resources</h2>
        <span className="quiet">what each container may use</span>
      </div>
      <table className="table resources">
        <thead>
          <tr>
            <th scope="col">Container</th>
            <th scope="col">Type</th>
            <th scope="col">Instances</th>
            <th scope="col" className="number">
              CPU
            </th>
            <th scope="col" className="number">
              Memory
            </th>
            <th scope="col" className="number">
              Disk
            </th>
          </tr>
        </thead>
        <tbody>
          {containers.map(([name, container]) => (
            <ContainerRow key={name} name={name} container={container} profiles={deployment.container_profiles} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

interface RowProps {
  name: string;
  container: Container & { container_profile?: string | null };
  profiles: Deployment['container_profiles'];
}

function ContainerRow({ name, container, profiles }: RowProps) {
  const { type, instance_count, disk, resources, container_profile } = container;
  const size = profiles[container_profile ?? '']?.[resources?.profile_size ?? ''];
  return (
    <tr>
      <th scope="row" className="mono">
        {name}
      </th>
      <td className="quiet">{type}</td>
      <td>
        {instance_count}{' '}
        <span className="instances" aria-hidden="true">
          {Array.from({ length: instance_count }, (_, n) => (
            <i key={n} />
          ))}
        </span>
      </td>
      <td className="number">{size ? `${size.cpu} CPU` : resources?.profile_size}</td>
      <td className="number">{size && `${size.memory} MB`}</td>
      <td className="number">{disk === null ? '' : `${disk} MB`}</td>
    </tr>
  );
}
