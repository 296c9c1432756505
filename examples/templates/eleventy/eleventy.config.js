export default function (eleventy) {
  eleventy.addPassthroughCopy({ 'content/style.css': 'style.css' });
  eleventy.addFilter('day', (date) => date.toISOString().slice(0, 10));
  return { dir: { input: 'content', includes: '../_includes', output: '_site' } };
}
