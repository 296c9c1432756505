/** What others wrote goes to a terminal, which would obey what is in it, or show it in another order. */
export const say = (text: string) => console.log(text.replaceAll(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, '\u{fffd}'));
