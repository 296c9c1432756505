/** What people are called, wherever the console names them. */
interface Named {
  first_name: string;
  last_name: string;
  username: string;
}

export const personName = ({ first_name, last_name, username }: Named): string => `${first_name} ${last_name}`.trim() || username;

/** Of somebody whom a list mentions by id, and whose account may be gone. */
export const personNameOrId = (person: Named | undefined, id: string): string => (person ? personName(person) : id);
