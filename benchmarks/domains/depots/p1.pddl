(define (problem depots-1)
  (:domain depots)
  (:objects depot0 - depot dist0 - distributor truck0 - truck pallet0 pallet1 - pallet crate0 crate1 - crate
         hoist0 hoist1 - hoist)
  (:init (at pallet0 depot0) (at pallet1 dist0) (at hoist0 depot0) (at hoist1 dist0) (available hoist0)
         (available hoist1) (at truck0 dist0) (at crate0 depot0) (on crate0 pallet0) (at crate1 depot0) (on
         crate1 crate0) (clear crate1) (clear pallet1))
  (:goal (and (on crate0 pallet1) (on crate1 crate0))))
