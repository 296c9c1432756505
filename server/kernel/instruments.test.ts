import { expect, test } from 'vitest';
import { gauge, openCounter, openHistogram, writeFamilies } from './instruments.ts';

test('what is counted is written as Prometheus reads it', () => {
  const counter = openCounter('asked_total', 'Questions.', ['who', 'how']);
  counter.add(['ada', 'well']);
  counter.add(['ada', 'well'], 2);
  counter.add(['"quoted"\\\n', 'badly']);
  expect(writeFamilies([counter.family(), gauge('nobody', 'Left out.', []), gauge('depth', 'Two\nlines \\.', -Infinity)])).toBe(
    String.raw`# HELP asked_total Questions.
# TYPE asked_total counter
asked_total{who="ada",how="well"} 3
asked_total{who="\"quoted\"\\\n",how="badly"} 1
# HELP depth Two\nlines \\.
# TYPE depth gauge
depth -Inf
`,
  );
});

test('a histogram counts what is not above each bound, and everything', () => {
  const histogram = openHistogram('took_seconds', 'Times.', ['by'], [0.1, 1]);
  for (const seconds of [0.05, 0.1, 0.5, 7]) histogram.observe(['me'], seconds);
  expect(writeFamilies([histogram.family()]).split('\n').slice(2, -1)).toEqual([
    'took_seconds_bucket{by="me",le="0.1"} 2',
    'took_seconds_bucket{by="me",le="1"} 3',
    'took_seconds_bucket{by="me",le="+Inf"} 4',
    'took_seconds_sum{by="me"} 7.65',
    'took_seconds_count{by="me"} 4',
  ]);
});
