/** What a login shell reads. Debian's own /etc/profile would set PATH anew, and with it hide what the app's own tools were put into. */
export const loginFiles = {
  '/etc/profile': `# The variables of the app are there before its shell is.
if [ -n "\${PS1-}" ]; then
  if [ -f /etc/bash.bashrc ]; then . /etc/bash.bashrc; fi
  PS1='\\u@\${PLATFORM_APPLICATION_NAME:-app}.\${PLATFORM_BRANCH:-}:\\w\\$ '
fi
for script in /etc/profile.d/*.sh; do
  if [ -r "$script" ]; then . "$script"; fi
done
unset script
`,
} as const;
