/** Light, dark or as the system; and more contrast. What somebody chose is kept in this browser, because it is about their screen. */
import { type ReactNode, useSyncExternalStore } from 'react';
import { Icon } from './icon.tsx';
import { Menu } from './menu.tsx';

const choices = {
  theme: ['system', 'light', 'dark'],
  contrast: ['normal', 'more'],
} as const;

type Name = keyof typeof choices;

const rememberedAs = (name: Name) => `offshoot-${name}`;
const remembered = (name: Name): string => localStorage.getItem(rememberedAs(name)) ?? choices[name][0];

/** Before the first paint. */
export function showAppearance() {
  for (const name of ['theme', 'contrast'] as const) show(name, remembered(name));
}

function show(name: Name, value: string) {
  const root = document.documentElement;
  if (value === choices[name][0]) delete root.dataset[name];
  else root.dataset[name] = value;
}

function choose(name: Name, value: string) {
  localStorage.setItem(rememberedAs(name), value);
  show(name, value);
  for (const listener of listeners) listener();
}

const listeners = new Set<() => void>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const words: Record<string, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };

/** What was chosen, in the menu of the bar and on the page of the account alike. */
function useAppearance() {
  const chosen = useSyncExternalStore(subscribe, () => `${remembered('theme')} ${remembered('contrast')}`);
  const [theme = '', contrast = ''] = chosen.split(' ');
  return { theme, contrast };
}

function AppearanceChoices({ group, Row }: { group: string; Row: ({ children }: { children: ReactNode }) => ReactNode }) {
  const { theme, contrast } = useAppearance();
  return (
    <>
      {choices.theme.map((value) => (
        <Row key={value}>
          <input type="radio" name={group} checked={theme === value} onChange={() => choose('theme', value)} />
          {words[value]}
        </Row>
      ))}
      <Row>
        <input
          type="checkbox"
          checked={contrast === 'more'}
          onChange={({ target }) => choose('contrast', target.checked ? 'more' : 'normal')}
        />
        More contrast
      </Row>
    </>
  );
}

const MenuRow = ({ children }: { children: ReactNode }) => (
  <li>
    <label>{children}</label>
  </li>
);

const FieldRow = ({ children }: { children: ReactNode }) => <label className="check">{children}</label>;

export const AppearanceMenu = () => (
  <Menu label="Appearance" handle={<Icon name="contrast" />} handleClass="icon-button" staysOpen>
    <AppearanceChoices group="theme" Row={MenuRow} />
  </Menu>
);

export const AppearanceFields = () => (
  <fieldset className="field boxes">
    <legend className="unseen">Appearance</legend>
    <AppearanceChoices group="theme-of-account" Row={FieldRow} />
  </fieldset>
);
