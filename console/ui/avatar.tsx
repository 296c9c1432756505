/** What a person looks like: their picture, or their initials. Their name is beside it or in a label, so it is not read out. */
import { initialsOf } from './initials.ts';

interface Pictured {
  name: string;
  picture?: string | undefined;
  className?: string;
}

export const Avatar = ({ name, picture, className = '' }: Pictured) =>
  picture ? (
    <img className={`avatar ${className}`} src={picture} alt="" />
  ) : (
    <span className={`avatar ${className}`} data-initials={initialsOf(name)} />
  );
