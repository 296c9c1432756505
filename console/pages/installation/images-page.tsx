/** The images that containers start from, and whether they are up to date. */
import { useQuery } from '@tanstack/react-query';
import { DeedButton } from '../../actions/deed-button.tsx';
import { type Images, imagesQuery, type Installation } from '../../api/installation-queries.ts';
import { Age } from '../../ui/age.tsx';
import { bytesText } from '../../ui/amounts.ts';
import { Badge } from '../../ui/status.tsx';
import { List } from '../list-page.tsx';
import { useInstallation, useInstallationChanged } from './use-installation.ts';
import './installation.css';

export function ImagesPage() {
  const installation = useInstallation();
  return installation && <ImageList installation={installation} />;
}

function ImageList({ installation }: { installation: Installation }) {
  const { data: images, error } = useQuery(imagesQuery(installation));
  const changed = useInstallationChanged();
  return (
    <List
      title="Images"
      about={images ? <State images={images} /> : 'What containers start from.'}
      button={
        <DeedButton resource={installation} rel="update-images" says="Update now" verb="Update the images" icon="sync" onDone={changed} />
      }
      rows={images?.types.toSorted((one, other) => Number(one.bytes === null) - Number(other.bytes === null))}
      error={error}
      columns={['Type', 'State', { number: 'Size' }]}
      empty={{ says: 'The catalogue has no types.', cli: './offshoot image build nodejs:22' }}
    >
      {({ type, bytes }) => (
        <tr key={type}>
          <th scope="row" className="mono">
            {type}
          </th>
          <td data-label="State">
            <Badge of={bytes === null ? 'inactive' : 'active'}>{bytes === null ? 'Built when it is needed' : 'Built'}</Badge>
          </td>
          <td data-label="Size" className="number">
            {bytes === null ? '' : bytesText(bytes)}
          </td>
        </tr>
      )}
    </List>
  );
}

const State = ({ images: { bytes_taken, bytes_collectable, updated_at, update_days, update_asked_at } }: { images: Images }) => (
  <>
    All together take {bytesText(bytes_taken)}
    {bytes_collectable > 0 && `, of which nothing has used ${bytesText(bytes_collectable)} lately`}.{' '}
    {updated_at !== null && (
      <>
        Debian was last asked for newer packages <Age of={updated_at} ago />
        {update_days > 0 ? `, and is every ${update_days === 1 ? 'day' : `${update_days} days`}. ` : '. '}
      </>
    )}
    {update_asked_at !== null && (
      <>
        An update was asked for <Age of={update_asked_at} ago />, and is not over yet.{' '}
      </>
    )}
    What runs gets newer images when it is redeployed.
  </>
);
