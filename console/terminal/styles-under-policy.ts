/**
 * xterm writes its styles into `<style>` elements and `style` attributes, which the content policy of our pages refuses. The same rules are let in as sheets
 * that a script adopts, and the same attributes as properties; so here its elements are given those ways of being written to.
 */

/** The document that xterm is to make its elements with. */
export const documentUnderPolicy = (): Document =>
  new Proxy(document, {
    get: (real, name) => {
      if (name === 'createElement') return createElement;
      const value: unknown = Reflect.get(real, name, real);
      return typeof value === 'function' ? (value as () => unknown).bind(real) : value;
    },
  });

/** For as long as something runs that takes the real document: what draws the scroll bar does not ask which one it is to use. */
export function withStylesUnderPolicy(run: () => void) {
  document.createElement = createElement;
  try {
    run();
  } finally {
    Reflect.deleteProperty(document, 'createElement');
  }
}

function createElement(name: string): HTMLElement {
  if (name === 'style') return adoptedSheet();
  const element = Document.prototype.createElement.call(document, name);
  if (name === 'span') writeStyleAsProperties(element);
  return element;
}

/** An element that is never shown stands for the sheet: a `<style>` breaks the policy by being in the document, even while it is empty. */
function adoptedSheet(): HTMLElement {
  const element: HTMLElement = Document.prototype.createElement.call(document, 'template');
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  Object.defineProperty(element, 'textContent', {
    set: (text: string) => {
      sheet.replaceSync(text);
    },
  });
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((each) => each !== sheet);
    Element.prototype.remove.call(element);
  };
  return element;
}

function writeStyleAsProperties(element: HTMLElement) {
  element.setAttribute = (name, value) => {
    if (name === 'style') element.style.cssText = value;
    else Element.prototype.setAttribute.call(element, name, value);
  };
}
