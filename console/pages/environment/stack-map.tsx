/** What runs, from the visitor to the data: routes, apps and workers, services, with lines from each to what it uses. */
import type { Container, Deployment } from '../../api/resources.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';

const [nodeHeight, gap, width] = [56, 12, 64];
const middleOf = (n: number) => n * (nodeHeight + gap) + nodeHeight / 2;

interface Node {
  key: string;
  icon: IconName;
  name: string;
  under: string;
  /** Keys, in the next column, of what it uses. */
  uses: readonly string[];
  isFaint?: boolean;
  instances?: number;
}

export function StackMap({ deployment }: { deployment: Deployment }) {
  const routes = routeNodes(deployment);
  const apps = [...containerNodes(deployment.webapps, 'window'), ...containerNodes(deployment.workers, 'worker')];
  const services = containerNodes(deployment.services, 'database').map((node) => ({ ...node, uses: [] }));
  return (
    <figure className="panel stackmap">
      <figcaption>
        <h2>What runs</h2>
      </figcaption>
      <div className="map">
        <Column title="Routes" nodes={routes} />
        <Edges from={routes} to={apps} />
        <Column title="Apps" nodes={apps} />
        <Edges from={apps} to={services} />
        <Column title="Services" nodes={services} />
      </div>
    </figure>
  );
}

const Column = ({ title, nodes }: { title: string; nodes: readonly Node[] }) => (
  <div>
    <h3>{title}</h3>
    <ul>
      {nodes.map(({ key, icon, name, under, uses, isFaint, instances = 0 }) => (
        <li key={key} className={`node ${isFaint ? 'faint' : ''}`} title={name}>
          <Icon name={icon} />
          <span className="mono strong cut">{name}</span>
          {instances > 0 && (
            <span className="side instances" role="img" aria-label={instances === 1 ? 'one instance' : `${instances} instances`}>
              {Array.from({ length: instances }, (_, n) => (
                <i key={n} />
              ))}
            </span>
          )}
          <span className="under cut">
            {under}
            {uses.length > 0 && <span className="uses-text">, uses {uses.join(', ')}</span>}
          </span>
        </li>
      ))}
    </ul>
  </div>
);

function Edges({ from, to }: { from: readonly Node[]; to: readonly Node[] }) {
  const height = Math.max(from.length, to.length) * (nodeHeight + gap) - gap;
  const rowOf = new Map(to.map(({ key }, n) => [key, n]));
  return (
    <svg className="edges" style={{ height: Math.max(height, 0) }} aria-hidden="true">
      {from.flatMap(({ key, uses }, n) =>
        uses.map((used) => {
          const row = rowOf.get(used);
          if (row === undefined) return undefined;
          const [y1, y2] = [middleOf(n), middleOf(row)];
          return (
            <path
              key={`${key} ${used}`}
              className="edge"
              strokeWidth="1.5"
              d={`M0 ${y1}C${width / 2} ${y1} ${width / 2} ${y2} ${width} ${y2}`}
            />
          );
        }),
      )}
    </svg>
  );
}

const routeNodes = ({ routes }: Deployment): Node[] =>
  Object.entries(routes).map(([url, { type, upstream, to = '', original_url }]) => {
    const app = upstream?.split(':', 1)[0];
    return {
      key: url,
      icon: 'globe',
      name: shortOf(original_url),
      under: type === 'redirect' ? `redirects to ${shortOf(routes[to]?.original_url ?? to)}` : `to ${app ?? to}`,
      uses: app === undefined ? [] : [app],
      isFaint: type === 'redirect',
    };
  });

/** `https://www.{default}/shop` is `www./shop` on a small card. */
const shortOf = (url: string) => {
  const rest = url.replace(/^https?:\/\//, '');
  return rest.replace('{default}', '').replace(/^(.*\.)\/$/, '$1') || '/';
};

const containerNodes = (containers: Readonly<Record<string, Container>>, icon: IconName): Node[] =>
  Object.entries(containers).map(([name, { type, relationships, instance_count }]) => ({
    key: name,
    icon,
    name,
    under: type,
    uses: [...new Set(Object.values(relationships ?? {}).flatMap((relationship) => relationship?.service ?? []))],
    instances: instance_count,
  }));
