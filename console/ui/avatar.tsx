/** What a person looks like: their picture, or their initials. Their name is beside it or in a label, so it is not read out. */
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

function initialsOf(name: string) {
  const words = name.split(/[\s._-]+/).filter((word) => word !== '');
  return (words.length > 1 ? `${words[0]?.[0]}${words.at(-1)?.[0]}` : name.slice(0, 2)).toUpperCase();
}
