/** Light, dark or as the system; and more contrast. What somebody chose is kept in this browser, because it is about their screen. */
import { useState } from 'react';
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
}

const words: Record<string, string> = { system: 'As the system', light: 'Light', dark: 'Dark' };

export function AppearanceMenu() {
  const [theme, setTheme] = useState(() => remembered('theme'));
  const [contrast, setContrast] = useState(() => remembered('contrast'));
  const chooseTheme = (value: string) => {
    choose('theme', value);
    setTheme(value);
  };
  const chooseContrast = (value: string) => {
    choose('contrast', value);
    setContrast(value);
  };
  return (
    <Menu label="Appearance" handle={<Icon name="contrast" />} handleClass="icon-button" staysOpen>
      {choices.theme.map((value) => (
        <li key={value}>
          <label>
            <input type="radio" name="theme" checked={theme === value} onChange={() => chooseTheme(value)} />
            {words[value]}
          </label>
        </li>
      ))}
      <li className="rule" />
      <li>
        <label>
          <input
            type="checkbox"
            checked={contrast === 'more'}
            onChange={({ target }) => chooseContrast(target.checked ? 'more' : 'normal')}
          />
          More contrast
        </label>
      </li>
    </Menu>
  );
}
