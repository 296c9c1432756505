/**
 * State that belongs to something, such as a machine, an edge or a database, and that only some file far above it knows of: made when it is first asked
 * for, gone with its owner. Two platforms in one process have two machines, and so never meet in it.
 */
export function stateOf<Owner extends object, State>(make: (owner: Owner) => State): (owner: Owner) => State {
  const states = new WeakMap<Owner, State>();
  return (owner) => {
    const state = states.get(owner) ?? make(owner);
    states.set(owner, state);
    return state;
  };
}
