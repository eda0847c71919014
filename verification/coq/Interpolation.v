(* A convex, falling, piecewise linear function given by its values at nodes is a sum of hinges, with no weight negative
   exactly when the values pass a few checks. Two such functions, for y above and below 1, make one profile. *)

From Coq Require Import Reals Lra List Lia.
From DPADMM Require Export Profiles.
Import ListNotations.
Open Scope R_scope.

(* ---- Piecewise linear functions, as sums of hinges (slope, place): slope (place - w)_+. ---- *)

Definition hinge (l : list (R * R)) (w : R) : R := lsum (fun a => fst a * pos (snd a - w)) l.

(* The slope of the values v over the cell [u j, u (j+1)]. *)
Definition slope (u v : nat -> R) (j : nat) : R := (v (S j) - v j) / (u (S j) - u j).

(* The hinges of the interpolation from node j on, k cells being left after the cell j; beyond the last node the
   last slope is continued down to 0. *)
Fixpoint hinges (u v : nat -> R) (j k : nat) : list (R * R) :=
  match k with
  | O => if Req_EM_T (slope u v j) 0 then [] else [(- slope u v j, u (S j) - v (S j) / slope u v j)]
  | S k' => (slope u v (S j) - slope u v j, u (S j)) :: hinges u v (S j) k'
  end.

(* The checks on one array of values at the nodes u 0 .. u M: nonnegative, falling, convex, and reaching 0. *)
Definition array_checked (u v : nat -> R) (M : nat) : Prop :=
  (forall j, (j <= M)%nat -> 0 <= v j) /\
  (forall j, (j < M)%nat -> slope u v j <= 0) /\
  (forall j, (S j < M)%nat -> slope u v j <= slope u v (S j)) /\
  (slope u v (M - 1) < 0 \/ v M = 0).

Section Hinges.
  Context (u v : nat -> R) (M : nat) (Hu : forall j, (j < M)%nat -> u j < u (S j)) (Hv : array_checked u v M).

  Lemma hinges_left k : forall j w, (j + S k = M)%nat -> w <= u (S j) ->
    hinge (hinges u v j k) w = v (S j) + slope u v j * (w - u (S j)).
  Proof.
    destruct Hv as (V0 & V1 & V2 & V3). induction k as [ | k IH ]; intros j w Hj Hw; simpl.
    - assert (j = M - 1)%nat by lia. assert (S j = M) by lia.
      destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; simpl.
      + rewrite E, Rmult_0_l, Rplus_0_r. replace (S j) with M by lia. subst j. destruct V3; [ lra | now symmetry ].
      + assert (Neg : slope u v j < 0) by (pose proof (V1 j ltac:(lia)); lra).
        assert (0 <= - (v (S j) / slope u v j)).
        { replace (- (v (S j) / slope u v j)) with (v (S j) / - slope u v j) by (field; lra).
          apply Rmult_le_pos; [ apply V0; lia | left; apply Rinv_0_lt_compat; lra ]. }
        unfold hinge; simpl. rewrite pos_of_nonneg by lra. field; lra.
    - unfold hinge in *; simpl. rewrite pos_of_nonneg by lra.
      rewrite IH by (lia || (pose proof (Hu (S j) ltac:(lia)); lra)).
      assert (E : v (S (S j)) = v (S j) + slope u v (S j) * (u (S (S j)) - u (S j))).
      { unfold slope. pose proof (Hu (S j) ltac:(lia)). field; lra. }
      rewrite E. ring.
  Qed.

  Lemma hinges_cell i : forall j k w, (j + S k = M)%nat -> (i <= k)%nat -> u (j + i) <= w <= u (S (j + i)) ->
    (i = O \/ u j <= w) ->
    hinge (hinges u v j k) w = v (S (j + i)) + slope u v (j + i) * (w - u (S (j + i))).
  Proof.
    induction i as [ | i IH ]; intros j k w Hj Hk Hw Hjw.
    - rewrite Nat.add_0_r in *. apply hinges_left; [ lia | apply Hw ].
    - destruct k as [ | k ]; [ lia | ]. simpl. unfold hinge; simpl. fold (hinge (hinges u v (S j) k) w).
      assert (Le : forall a b, (a <= b <= M)%nat -> u a <= u b).
      { intros a b Hab. induction b as [ | b IHb ]; [ replace a with O by lia; lra | ].
        destruct (Nat.eq_dec a (S b)) as [ -> | ]; [ lra | ].
        pose proof (IHb ltac:(lia)). pose proof (Hu b ltac:(lia)). lra. }
      pose proof (Le (S j) (j + S i)%nat ltac:(lia)).
      rewrite pos_of_nonpos by lra.
      replace (j + S i)%nat with (S j + i)%nat in * by lia.
      rewrite (IH (S j) k w) by (lia || assumption || (right; lra)). ring.
  Qed.

  Lemma hinges_slope k : forall j, (j + S k = M)%nat -> lsum fst (hinges u v j k) = - slope u v j.
  Proof.
    induction k as [ | k IH ]; intros j Hj; simpl.
    - destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; simpl; lra.
    - rewrite IH by lia. lra.
  Qed.

  Lemma hinges_good k : forall j a, (j + S k = M)%nat -> In a (hinges u v j k) -> 0 <= fst a /\ u (S j) <= snd a.
  Proof.
    destruct Hv as (V0 & V1 & V2 & V3). induction k as [ | k IH ]; intros j a Hj Ha; simpl in Ha.
    - destruct (Req_EM_T (slope u v j) 0) as [ E | E ]; simpl in Ha; [ easy | ]. destruct Ha as [ <- | [] ]; simpl.
      pose proof (V1 j ltac:(lia)). split; [ lra | ].
      assert (0 <= v (S j) / - slope u v j)
        by (apply Rmult_le_pos; [ apply V0; lia | left; apply Rinv_0_lt_compat; lra ]).
      replace (v (S j) / slope u v j) with (- (v (S j) / - slope u v j)) by (field; lra). lra.
    - destruct Ha as [ <- | Ha ]; simpl.
      + pose proof (V2 j ltac:(lia)). lra.
      + destruct (IH (S j) a ltac:(lia) Ha). pose proof (Hu (S j) ltac:(lia)). lra.
  Qed.
End Hinges.

(* ---- The profile of two piecewise linear sides: y = 1 + q w above 1 and y = 1/(1 + q w) below. ---- *)

Definition two_sided (q kink : R) (up down : list (R * R)) : profile :=
  Profile 0 (map (fun a => (fst a * (1 + q * snd a), 1 + q * snd a)) up
    ++ map (fun a => (fst a, / (1 + q * snd a))) down ++ [(kink, 1)]).

Section TwoSided.
  Context (q kink : R) (up down : list (R * R)) (Hq : 0 < q)
    (Gup : forall a, In a up -> 0 <= fst a /\ 0 <= snd a) (Gdown : forall a, In a down -> 0 <= fst a /\ 0 <= snd a)
    (Same : hinge up 0 = hinge down 0) (Hkink : kink = 1 - lsum fst up - lsum fst down - q * hinge up 0)
      (Pkink : 0 <= kink).

  Let K := two_sided q kink up down.

  Lemma hinge_zero l : (forall a, In a l -> 0 <= fst a /\ 0 <= snd a) -> hinge l 0 = lsum (fun a => fst a * snd a) l.
  Proof. intro G. apply lsum_ext; intros a Ha. destruct (G a Ha). rewrite Rminus_0_r, pos_of_nonneg by lra. ring. Qed.

  Lemma two_sided_proper : proper K.
  Proof.
    unfold K, two_sided; repeat split; simpl.
    - lra.
    - apply in_app_or in H as [ H | H ]; [ | apply in_app_or in H as [ H | [ <- | [] ] ] ];
        [ apply in_map_iff in H as (b & <- & Hb); destruct (Gup b Hb)
        | apply in_map_iff in H as (b & <- & Hb); destruct (Gdown b Hb) | ]; simpl; try lra.
      apply Rmult_le_pos; [ lra | nra ].
    - apply in_app_or in H as [ H | H ]; [ | apply in_app_or in H as [ H | [ <- | [] ] ] ];
        [ apply in_map_iff in H as (b & <- & Hb); destruct (Gup b Hb)
        | apply in_map_iff in H as (b & <- & Hb); destruct (Gdown b Hb) | ]; simpl; try lra.
      + nra.
      + apply Rinv_0_lt_compat; nra.
    - rewrite !lsum_app, !lsum_map. simpl.
      rewrite (lsum_ext (fun a => fst a * (1 + q * snd a)) (fun a => fst a + q * (fst a * snd a))) by (intros; ring).
      rewrite lsum_plus, lsum_scal, <- hinge_zero by assumption.
      change (lsum (fun a => fst a) up) with (lsum fst up). change (lsum (fun a => fst a) down) with (lsum fst down).
      rewrite Hkink. ring.
  Qed.

  Lemma value_two_sided y : value K y = lsum (fun a => fst a * pos (1 + q * snd a - y)) up
    + (lsum (fun a => fst a * pos (1 - y * (1 + q * snd a))) down + kink * pos (1 - y)).
  Proof.
    unfold value, K, two_sided; simpl. rewrite !lsum_app, !lsum_map. simpl.
    replace (y / 1) with y by field. rewrite Rplus_0_l, Rplus_0_r. f_equal; [ | f_equal ].
    - apply lsum_ext; intros a Ha. destruct (Gup a Ha). assert (0 < 1 + q * snd a) by nra.
      rewrite Rmult_assoc, <- pos_scale by lra. do 2 f_equal. field; lra.
    - apply lsum_ext; intros a Ha. destruct (Gdown a Ha). assert (0 < 1 + q * snd a) by nra.
      do 3 f_equal. field; lra.
  Qed.

  Lemma value_above w : 0 <= w -> value K (1 + q * w) = q * hinge up w.
  Proof.
    intro Hw. rewrite value_two_sided. rewrite (lsum_ext _ (fun _ => 0) down), lsum_const.
    - rewrite pos_of_nonpos by nra. rewrite !Rmult_0_r, !Rplus_0_r. unfold hinge. rewrite <- lsum_scal.
      apply lsum_ext; intros a _. replace (1 + q * snd a - (1 + q * w)) with (q * (snd a - w)) by ring.
      rewrite pos_scale by lra. ring.
    - intros a Ha. destruct (Gdown a Ha). rewrite pos_of_nonpos; [ ring | ].
      assert (0 <= q * w) by nra. assert (0 <= q * snd a) by nra. nra.
  Qed.

  Lemma value_below w : 0 <= w ->
    let y := / (1 + q * w) in value K y = 1 - y + y * (q * hinge down w).
  Proof.
    intros Hw y. assert (Hs : 0 < 1 + q * w) by nra.
    assert (Hy : 0 < y <= 1).
    { split; [ now apply Rinv_0_lt_compat | ]. rewrite <- Rinv_1. apply Rinv_le_contravar; nra. }
    assert (Ey : y * (1 + q * w) = 1) by (unfold y; field; lra).
    rewrite value_two_sided, pos_of_nonneg by lra.
    rewrite (lsum_ext (fun a => fst a * pos (1 + q * snd a - y)) (fun a => (1 - y) * fst a + q * (fst a * snd a))).
    2: { intros a Ha. destruct (Gup a Ha). rewrite pos_of_nonneg by nra. ring. }
    rewrite (lsum_ext (fun a => fst a * pos (1 - y * (1 + q * snd a)))
      (fun a => (1 - y) * fst a + (- (y * q) * (fst a * snd a) + y * (q * (fst a * pos (snd a - w)))))).
    2: { intros a Ha. rewrite pos_opp.
         replace (- (1 - y * (1 + q * snd a))) with (y * q * (snd a - w)) by nra.
         rewrite pos_scale by nra. ring. }
    rewrite !lsum_plus, !lsum_scal. fold (hinge down w).
    rewrite <- !hinge_zero by assumption. rewrite <- Same, Hkink.
    change (lsum (fun a => fst a) up) with (lsum fst up). change (lsum (fun a => fst a) down) with (lsum fst down).
    ring.
  Qed.
End TwoSided.
