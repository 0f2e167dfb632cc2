(define (problem rovers-2)
  (:domain rovers)
  (:objects rover0 rover1 - rover w0 w1 w2 - waypoint store0 store1 - store cam1 - camera colour depth - mode
         base - lander hill cliff - objective)
  (:init (at rover0 w2) (at rover1 w1) (at-lander base w0) (can-traverse rover0 w0 w2) (can-traverse rover0 w2
         w0) (can-traverse rover1 w0 w1) (can-traverse rover1 w1 w0) (can-traverse rover1 w1 w2) (can-traverse
         rover1 w2 w1) (visible w1 w0) (visible w2 w0) (equipped-for-soil rover0) (equipped-for-rock rover1)
         (equipped-for-imaging rover1) (store-of store0 rover0) (store-of store1 rover1) (empty store0) (empty
         store1) (soil-at w0) (rock-at w1) (rock-at w2) (camera-of cam1 rover1) (supports cam1 colour)
         (supports cam1 depth) (calibration-target cam1 cliff) (visible-from hill w1) (visible-from cliff w0)
         (visible-from cliff w2))
  (:goal (and (sent-soil w0) (sent-rock w1) (sent-image hill depth))))
