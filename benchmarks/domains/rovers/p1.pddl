(define (problem rovers-1)
  (:domain rovers)
  (:objects rover0 - rover w0 w1 w2 - waypoint store0 - store cam0 - camera colour - mode base - lander hill -
         objective)
  (:init (at rover0 w0) (at-lander base w1) (can-traverse rover0 w0 w1) (can-traverse rover0 w1 w0)
         (can-traverse rover0 w1 w2) (can-traverse rover0 w2 w1) (visible w0 w1) (visible w2 w1)
         (equipped-for-soil rover0) (equipped-for-rock rover0) (equipped-for-imaging rover0) (store-of store0
         rover0) (empty store0) (soil-at w0) (soil-at w2) (rock-at w2) (camera-of cam0 rover0) (supports cam0
         colour) (calibration-target cam0 hill) (visible-from hill w0) (visible-from hill w1))
  (:goal (and (sent-soil w2) (sent-rock w2) (sent-image hill colour))))
