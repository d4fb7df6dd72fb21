export { decode } from "./decode.mjs";
export { encode } from "./encode.mjs";
export { labelMetrics, lossMetrics, ratio, rocAuc, weightOf } from "./metrics.mjs";
export { DecodeError } from "./values.mjs";
