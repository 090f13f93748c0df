(function () {
  "use strict";
  return {};
});
