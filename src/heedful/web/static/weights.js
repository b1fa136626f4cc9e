// Weights on the simplex, as a hand changes them. Pure functions: lists in, new lists out.

/** One weight set to a share of all; the others keep their proportions and take the rest. */
export function withShare(weights, place, share) {
  if (weights.length === 1) return [1];
  const rest = weights.reduce((sum, one, at) => (at === place ? sum : sum + one), 0);
  return weights.map((one, at) => {
    if (at === place) return share;
    return rest > 0 ? (one / rest) * (1 - share) : (1 - share) / (weights.length - 1);
  });
}

/** The weights of the words that stay when one of them goes. */
export function without(weights, place) {
  const rest = weights.filter((_, at) => at !== place);
  const sum = rest.reduce((total, one) => total + one, 0);
  return rest.map((one) => (sum > 0 ? one / sum : 1 / rest.length));
}

// Heights follow the square root, so that small weights can be seen and still be dragged to 1.
export const heightOf = (weight) => Math.sqrt(Math.max(0, weight));
export const weightAt = (height) => Math.min(1, Math.max(0, height)) ** 2;

/** Short enough for an address: four significant digits are finer than a hand. */
export const inShort = (weights) => weights.map((one) => Number(one.toPrecision(4)));
